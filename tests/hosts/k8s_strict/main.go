// k8s_strict FILE...: decodes each object of these files into the type that Kubernetes itself has for its kind, and
// names it. A line and exit code 1 for an unknown kind, for a field that the type does not have or that is there twice,
// for a value of another type, and for a text that is missing although the type always has it.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// missing returns the paths of empty texts that the types write even if they are empty: an object needs them.
func missing(value reflect.Value, path string) []string {
	var found []string
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			found = missing(value.Elem(), path)
		}
	case reflect.Slice:
		for at := 0; at < value.Len(); at++ {
			found = append(found, missing(value.Index(at), fmt.Sprintf("%s[%d]", path, at))...)
		}
	case reflect.Struct:
		for at := 0; at < value.NumField(); at++ {
			name, options, _ := strings.Cut(value.Type().Field(at).Tag.Get("json"), ",")
			inner := path
			if name != "" {
				inner = strings.TrimPrefix(path+"."+name, ".")
			}
			field := value.Field(at)
			if field.Kind() == reflect.String && name != "" && options == "" && field.String() == "" {
				found = append(found, inner)
			}
			found = append(found, missing(field, inner)...)
		}
	}
	return found
}

func check(decoder runtime.Decoder, text []byte) (string, error) {
	object, kind, err := decoder.Decode(text, nil, nil)
	if err != nil {
		return "", err
	}
	if paths := missing(reflect.ValueOf(object), ""); len(paths) > 0 {
		return "", fmt.Errorf("missing: %s", strings.Join(paths, ", "))
	}
	name := "without a name"
	if named, ok := object.(metav1.Object); ok {
		name = named.GetName()
	}
	return kind.Kind + " " + name, nil
}

func checkFile(decoder runtime.Decoder, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	reader := yaml.NewYAMLReader(bufio.NewReader(file))
	objects := 0
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		name, err := check(decoder, text)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s\n", path, name)
		objects++
	}
	if objects == 0 {
		return errors.New("no object")
	}
	return nil
}

func main() {
	scheme := runtime.NewScheme()
	if err := batchv1.AddToScheme(scheme); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme,
		json.SerializerOptions{Yaml: true, Strict: true})
	code := 0
	for _, path := range os.Args[1:] {
		if err := checkFile(decoder, path); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %s\n", path, strings.ReplaceAll(err.Error(), "\n", " "))
			code = 1
		}
	}
	os.Exit(code)
}
