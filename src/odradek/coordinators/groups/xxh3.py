"""XXH3, the 64-bit hash of the xxHash family, without a seed: Kafka stores it of the topics that a group reads.

Specified in xxHash's doc/xxhash_spec.md. Inputs up to 240 bytes are mixed directly; of longer ones, eight lanes take a
stripe of 64 bytes at a time.
"""

from struct import Struct, unpack_from

_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_PRIME32_1, _PRIME32_2, _PRIME32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_PRIME64_1, _PRIME64_2, _PRIME64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_PRIME64_4, _PRIME64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_PRIME_MX1, _PRIME_MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25

_MASK = (1 << 64) - 1
_LOW = (1 << 32) - 1
_STRIPE = Struct("<8Q")
_STRIPES_IN_BLOCK = 16
_BLOCK = _STRIPES_IN_BLOCK * _STRIPE.size

_LANES = (_PRIME32_3, _PRIME64_1, _PRIME64_2, _PRIME64_3, _PRIME64_4, _PRIME32_2, _PRIME64_5, _PRIME32_1)
_STRIPE_KEYS = tuple(_STRIPE.unpack_from(_SECRET, 8 * number) for number in range(_STRIPES_IN_BLOCK))
_SCRAMBLE_KEY = _STRIPE.unpack_from(_SECRET, 128)
_LAST_KEY = _STRIPE.unpack_from(_SECRET, 121)
_MERGE_KEY = _STRIPE.unpack_from(_SECRET, 11)


def xxh3_64(data: bytes) -> int:
    """Unsigned."""
    size = len(data)
    if size <= 16:
        return _tiny(data, size)
    if size <= 128:
        return _short(data, size)
    if size <= 240:
        return _middle(data, size)
    return _long(data, size)


def _tiny(data: bytes, size: int) -> int:
    if size > 8:
        low = _word(data, 0) ^ _word(_SECRET, 24) ^ _word(_SECRET, 32)
        high = _word(data, size - 8) ^ _word(_SECRET, 40) ^ _word(_SECRET, 48)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return _avalanche(size + swapped + high + _folded_product(low, high))
    if size >= 4:
        first, last = _half(data, 0), _half(data, size - 4)
        mixed = (last | first << 32) ^ _word(_SECRET, 8) ^ _word(_SECRET, 16)
        mixed ^= _rotated(mixed, 49) ^ _rotated(mixed, 24)
        mixed = mixed * _PRIME_MX2 & _MASK
        mixed ^= (mixed >> 35) + size
        mixed = mixed * _PRIME_MX2 & _MASK
        return mixed ^ mixed >> 28
    if size:
        mixed = data[0] << 16 | data[size >> 1] << 24 | data[-1] | size << 8
        return _avalanche_64(mixed ^ _half(_SECRET, 0) ^ _half(_SECRET, 4))
    return _avalanche_64(_word(_SECRET, 56) ^ _word(_SECRET, 64))


def _short(data: bytes, size: int) -> int:
    """From both ends to the middle."""
    total = size * _PRIME64_1
    for step in range((size - 1) // 32 + 1):
        total += _mixed(data, 16 * step, 32 * step) + _mixed(data, size - 16 * (step + 1), 32 * step + 16)
    return _avalanche(total)


def _middle(data: bytes, size: int) -> int:
    total = size * _PRIME64_1 + sum(_mixed(data, 16 * step, 16 * step) for step in range(8))
    total = _avalanche(total) + sum(_mixed(data, 16 * step, 16 * (step - 8) + 3) for step in range(8, size // 16))
    return _avalanche(total + _mixed(data, size - 16, 119))


def _long(data: bytes, size: int) -> int:
    lanes = list(_LANES)
    for at in range(0, size - 1 - (size - 1) % _STRIPE.size, _STRIPE.size):
        number = at % _BLOCK // _STRIPE.size
        _accumulate(lanes, _STRIPE.unpack_from(data, at), _STRIPE_KEYS[number])
        if number == _STRIPES_IN_BLOCK - 1:
            lanes = [
                (lane ^ lane >> 47 ^ key) * _PRIME32_1 & _MASK for lane, key in zip(lanes, _SCRAMBLE_KEY, strict=True)
            ]
    _accumulate(lanes, _STRIPE.unpack_from(data, size - _STRIPE.size), _LAST_KEY)
    keyed = [lane ^ key for lane, key in zip(lanes, _MERGE_KEY, strict=True)]
    return _avalanche(size * _PRIME64_1 + sum(map(_folded_product, keyed[::2], keyed[1::2])))


def _accumulate(lanes: list[int], stripe: tuple[int, ...], keys: tuple[int, ...]) -> None:
    for number in range(8):
        word = stripe[number]
        keyed = word ^ keys[number]
        lanes[number ^ 1] = lanes[number ^ 1] + word & _MASK
        lanes[number] = lanes[number] + (keyed & _LOW) * (keyed >> 32) & _MASK


def _mixed(data: bytes, at: int, secret_at: int) -> int:
    """16 bytes, with 16 of the secret."""
    low, high = unpack_from("<QQ", data, at)
    low_key, high_key = unpack_from("<QQ", _SECRET, secret_at)
    return _folded_product(low ^ low_key, high ^ high_key)


def _folded_product(one: int, other: int) -> int:
    product = one * other
    return product & _MASK ^ product >> 64


def _avalanche(mixed: int) -> int:
    mixed &= _MASK
    mixed = (mixed ^ mixed >> 37) * _PRIME_MX1 & _MASK
    return mixed ^ mixed >> 32


def _avalanche_64(mixed: int) -> int:
    """Of the older hash XXH64."""
    mixed = (mixed ^ mixed >> 33) * _PRIME64_2 & _MASK
    mixed = (mixed ^ mixed >> 29) * _PRIME64_3 & _MASK
    return mixed ^ mixed >> 32


def _rotated(mixed: int, bits: int) -> int:
    return (mixed << bits | mixed >> 64 - bits) & _MASK


def _word(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def _half(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")
