// Where OpenSSL looks for certificates and settings if nobody says where: in place of its own x509_def.c, which knows the
// places of Debian alone. The files are those that `pipe` takes.
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN const char* X509_get_default_cert_file(void) {
  static const char* const files[] = {"/etc/ssl/certs/ca-certificates.crt",                 // Debian
                                      "/etc/pki/tls/certs/ca-bundle.crt",                   // Red Hat
                                      "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // newer ones of them
                                      "/etc/ssl/ca-bundle.pem"};                            // SUSE
  for (unsigned i = 0; i < sizeof files / sizeof *files; i++)
    if (access(files[i], R_OK) == 0) return files[i];
  return files[0];
}

HIDDEN const char* X509_get_default_cert_dir(void) { return "/etc/ssl/certs"; }
HIDDEN const char* X509_get_default_cert_file_env(void) { return "SSL_CERT_FILE"; }
HIDDEN const char* X509_get_default_cert_dir_env(void) { return "SSL_CERT_DIR"; }
HIDDEN const char* X509_get_default_cert_area(void) { return "/usr/lib/ssl"; }  // openssl.cnf
HIDDEN const char* X509_get_default_private_dir(void) { return "/usr/lib/ssl/private"; }
