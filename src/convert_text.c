/*-------------------------------------------------------------------------
 *
 * convert_text.c
 *		Readers of text and of what is spelled in letters.
 *
 * IDENTIFICATION
 *		src/convert_text.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "utils/uuid.h"

#include "convert_internal.h"

/* Copy a field; short ones without a call or a loop. */
static inline char *
put_bytes(char *out, const char *s, size_t len)
{
	if (likely(len <= INGEST_CSV_SLACK))
		memcpy(out, s, INGEST_CSV_SLACK);
	else
		memcpy(out, s, len);
	return out + len;
}

static inline bool
is_ascii(const char *s, size_t len)
{
	while (len >= sizeof(uint64))
	{
		uint64		word;

		memcpy(&word, s, sizeof(word));
		if (word & UINT64CONST(0x8080808080808080))
			return false;
		s += sizeof(uint64);
		len -= sizeof(uint64);
	}
	for (size_t i = 0; i < len; i++)
		if (IS_HIGHBIT_SET(s[i]))
			return false;
	return true;
}

/* text, and varchar where it certainly fits */
char *
ingest_read_text(const ConvertFormat *format, const char *s, size_t len,
				 char *out)
{
	/* bytes are never fewer than characters */
	if (format->max_chars >= 0 && len > (size_t) format->max_chars)
		return NULL;
	return put_bytes(convert_put_header(format, out, len), s, len);
}

/*
 * Copy up to 16 ASCII characters and add spaces up to 16; false if not all are
 * ASCII.
 */
static inline bool
put_padded(char *out, const char *s, size_t len)
{
#ifdef __SSE2__
	const __m128i places = _mm_set_epi8(15, 14, 13, 12, 11, 10, 9, 8,
										7, 6, 5, 4, 3, 2, 1, 0);
	__m128i		keep = _mm_cmplt_epi8(places, _mm_set1_epi8((char) len));
	__m128i		text = _mm_and_si128(_mm_loadu_si128((const __m128i *) s),
									 keep);

	_mm_storeu_si128((__m128i *) out,
					 _mm_or_si128(text,
								  _mm_andnot_si128(keep, _mm_set1_epi8(' '))));
	return _mm_movemask_epi8(text) == 0;
#else
	memset(put_bytes(out, s, len), ' ', 16 - len);
	return is_ascii(s, len);
#endif
}

/* char(n): padded to n characters */
char *
ingest_read_bpchar(const ConvertFormat *format, const char *s, size_t len,
				   char *out)
{
	size_t		width = format->max_chars;

	if (format->max_chars < 0)
		return ingest_read_text(format, s, len, out);
	if (len > width)
		return NULL;
	out = convert_put_header(format, out, width);
	if (likely(width <= 16))
	{
		if (!put_padded(out, s, len))
			return NULL;
	}
	else
	{
		if (!is_ascii(s, len))
			return NULL;
		memset(put_bytes(out, s, len), ' ', width - len);
	}
	return out + width;
}

char *
ingest_read_bool(const ConvertFormat *format, const char *s, size_t len,
				 char *out)
{
	(void) format;
	if (len == 1)
	{
		if (*s == 't' || *s == '1' || *s == 'y')
			*out = true;
		else if (*s == 'f' || *s == '0' || *s == 'n')
			*out = false;
		else
			return NULL;
	}
	else if (len == 4 && memcmp(s, "true", 4) == 0)
		*out = true;
	else if (len == 5 && memcmp(s, "false", 5) == 0)
		*out = false;
	else
		return NULL;
	return out + 1;
}

static inline int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* 8-4-4-4-12 hexadecimal digits */
char *
ingest_read_uuid(const ConvertFormat *format, const char *s, size_t len,
				 char *out)
{
	(void) format;
	if (len != 36)
		return NULL;
	for (int i = 0; i < UUID_LEN; i++)
	{
		int			high;
		int			low;

		if ((i == 4 || i == 6 || i == 8 || i == 10) && *s++ != '-')
			return NULL;
		high = hex_value(s[0]);
		low = hex_value(s[1]);
		if (high < 0 || low < 0)
			return NULL;
		out[i] = (char) (high << 4 | low);
		s += 2;
	}
	return out + UUID_LEN;
}

