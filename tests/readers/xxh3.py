"""XXH3-128 with seed 0, of github.com/Cyan4973/xxHash: the package xxhash has the same as xxh3_128_hexdigest."""

MASK, P32_1, P32_2, P32_3 = (1 << 64) - 1, 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P64_1, P64_2, P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P64_4, P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")


def word(data, at, size=8):
    return int.from_bytes(data[at:at + size], "little")


def folded(a, b):
    return (a * b & MASK) ^ (a * b >> 64)


def avalanche(h):
    h = (h ^ h >> 37) * 0x165667919E3779F9 & MASK
    return h ^ h >> 32


def avalanche64(h):
    h = (h ^ h >> 33) * P64_2 & MASK
    h = (h ^ h >> 29) * P64_3 & MASK
    return h ^ h >> 32


def mixed(sums, data, places, secret):
    lanes = [(word(data, at), word(data, at + 8)) for at in places]
    products = [folded(lanes[i][0] ^ word(SECRET, secret + 16 * i), lanes[i][1] ^ word(SECRET, secret + 16 * i + 8))
                for i in (0, 1)]
    return [(sums[i] + products[i] ^ sum(lanes[1 - i])) & MASK for i in (0, 1)]


def up_to_16(data, size):
    key = [word(SECRET, at) ^ word(SECRET, at + 8) for at in range(0, 96, 16)]
    if size > 8:
        one, two = word(data, 0), word(data, size - 8)
        product = (one ^ two ^ key[2]) * P64_1
        low, high = product + (size - 1 << 54) & MASK, product >> 64
        two ^= key[3]
        high = high + two + (two & 0xFFFFFFFF) * (P32_2 - 1) & MASK
        product = (low ^ int.from_bytes(high.to_bytes(8, "little"), "big")) * P64_2
        return avalanche(product & MASK), avalanche((product >> 64) + high * P64_2 & MASK)
    if size > 3:
        product = (word(data, 0, 4) + (word(data, size - 4, 4) << 32) ^ key[1]) * (P64_1 + (size << 2))
        high = (product >> 64) + (product << 1) & MASK
        low = product & MASK ^ high >> 3
        low = (low ^ low >> 35) * 0x9FB21C651E98DF25 & MASK
        return low ^ low >> 28, avalanche(high)
    if size:
        low = data[0] << 16 | data[size >> 1] << 24 | data[-1] | size << 8
        high = int.from_bytes(low.to_bytes(4, "little"), "big") * (1 << 32 | 1) >> 19 & 0xFFFFFFFF
        key[4:] = low ^ word(SECRET, 0, 4) ^ word(SECRET, 4, 4), high ^ word(SECRET, 8, 4) ^ word(SECRET, 12, 4)
    return avalanche64(key[4]), avalanche64(key[5])


def up_to_240(data, size):
    acc = [size * P64_1 & MASK, 0]
    if size <= 128:
        for at in range((size - 1) // 32 * 16, -1, -16):
            acc = mixed(acc, data, (at, size - 16 - at), 2 * at)
    else:
        for at in range(0, size // 32 * 32, 32):
            acc = mixed(acc, data, (at, at + 16), at if at < 128 else at - 125)
            acc = list(map(avalanche, acc)) if at == 96 else acc
        acc = mixed(acc, data, (size - 16, size - 32), 103)
    high = acc[0] * P64_1 + acc[1] * P64_4 + size * P64_2 & MASK
    return avalanche(sum(acc) & MASK), -avalanche(high) & MASK


def longer(data, size):
    acc = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1]

    def add(at, secret):
        for lane in range(8):
            key = word(data, at + 8 * lane) ^ word(SECRET, secret + 8 * lane)
            acc[lane ^ 1] = acc[lane ^ 1] + word(data, at + 8 * lane) & MASK
            acc[lane] = acc[lane] + (key & 0xFFFFFFFF) * (key >> 32) & MASK

    def merged(secret, start):
        keyed = [lane ^ word(SECRET, secret + 8 * at) for at, lane in enumerate(acc)]
        return avalanche(start + sum(map(folded, keyed[::2], keyed[1::2])) & MASK)

    for stripe in range((size - 1) // 64):
        add(64 * stripe, stripe % 16 * 8)
        if stripe % 16 == 15:
            acc = [(lane ^ lane >> 47 ^ word(SECRET, 128 + 8 * at)) * P32_1 & MASK for at, lane in enumerate(acc)]
    add(size - 64, 121)
    return merged(11, size * P64_1 & MASK), merged(117, ~(size * P64_2) & MASK)


def digest(data):
    """32 hexadecimal digits, the high word first."""
    low, high = (up_to_16 if len(data) <= 16 else up_to_240 if len(data) <= 240 else longer)(data, len(data))
    return f"{high:016x}{low:016x}"
