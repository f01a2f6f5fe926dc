/*-------------------------------------------------------------------------
 *
 * chunk.c
 *		A file shared out to processes, record by record.
 *
 * COPY finds the end of a record with a machine of three states: outside of
 * quotes, inside, and inside right behind an escape character (the last only
 * where ESCAPE and QUOTE differ).  Any quote outside begins a quoted stretch,
 * whether or not a field begins there.  So a chunk is a function from the
 * state before it to the state after it, which its process computes on its
 * own, for all three states at once.  Then it waits for the state before the
 * chunk, which the process of the chunk before supplies, and passes the state
 * after on.  Chunks are taken in file order and the functions are computed
 * first thing, so the wait is short.
 *
 * A chunk without a quote keeps the state, which one memchr() tells.
 *
 * In servers whose COPY ends a file at a line "\." a chunk in which a line
 * may begin like that is not passed on before its process has looked whether
 * it is such a line.  Chunks after it are then empty: nothing beyond the end
 * is ever handed out as a record.
 *
 * The state passed on has a fourth value, "outside of quotes, and a record
 * begins here", so that a chunk whose first byte begins a record knows it.
 *
 * A file may grow while it is read.  The process that has its feed tells the
 * others how far it has come, and they wait where they need more: for the
 * chunk and what is read behind it, or for the end.
 *
 * Line numbers are counted when an error needs them, by reading the file from
 * its beginning.
 *
 * Shared memory: everything that changes is protected by the spinlock, and
 * waiters are woken through the condition variable.  A process that dies
 * takes the parallel operation down with it, so nobody waits for ever.
 *
 * IDENTIFICATION
 *		src/chunk.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/condition_variable.h"
#include "storage/fd.h"
#include "storage/spin.h"
#include "utils/memutils.h"

#include "chunk.h"
#include "compat.h"

/* Read beyond a chunk at first, for the end of its last record. */
#define TAIL_SIZE		(64 * 1024)

/* Where in the machine we are. */
typedef enum QuoteState
{
	STATE_OUTSIDE,
	STATE_INSIDE,
	STATE_ESCAPED,				/* inside, an escape character before */
	NUM_QUOTE_STATES,

	/* only passed on from chunk to chunk */
	STATE_RECORD_BEGINS = NUM_QUOTE_STATES,
	STATE_DATA_ENDED
} QuoteState;

/* Values of IngestChunkQueue.current */
#define CHUNK_NONE		PG_INT64_MAX	/* process is not at work */

struct IngestChunkQueue
{
	/* fixed */
	char		quote;
	char		escape;			/* = quote: doubled quotes only */
	char		terminator;		/* last byte of a line end */
	IngestCsvEol eol;
	int64		start;
	int64		first_line;
	int64		chunk_size;
	int			nprocesses;

	slock_t		mutex;
	ConditionVariable changed;
	int64		end;			/* of the file, so far if it grows */
	bool		grows;
	int64		next;			/* chunk to be handed out */
	int64		stop;			/* none is handed out from this one on */
	int64		resolved;		/* chunks whose state after is known */
	QuoteState	state;			/* after the last of these */
	int64		current[FLEXIBLE_ARRAY_MEMBER]; /* chunk of each process */
};

struct IngestChunks
{
	IngestChunkQueue *queue;
	int			process;
	const char *path;
	int			fd;
	IngestCsv  *csv;
	MemoryContext context;
	IngestFeed *feed;			/* we are to make the file grow */
	int64		end;			/* of the file, as far as we know */
	bool		grows;

	/* bytes of the file in memory */
	char	   *buf;
	Size		buf_size;
	int64		buf_start;		/* place in the file of the first */
	Size		buf_len;

	/* the chunk in hand, as places in the file */
	bool		active;
	int64		chunk;
	int64		pos;			/* next record */
	int64		limit;			/* records begin before it */
	bool		plain_ascii;	/* all of buf is ASCII without NUL */
	int64		line_pos;		/* for line numbers: up to here has been read */

};

/* ------------------------------------------------------------------------
 * Bytes
 * ------------------------------------------------------------------------
 */

/* How often does a byte occur? */
static int64
count_byte(const char *buf, Size len, char byte)
{
	int64		count = 0;
	Size		i = 0;

#ifdef __SSE2__
	const __m128i pattern = _mm_set1_epi8(byte);
	const __m128i zero = _mm_setzero_si128();

	while (i + sizeof(__m128i) <= len)
	{
		__m128i		sums = zero;
		uint64		halves[2];

		/* each of the sixteen counters holds up to 255 */
		for (int n = 0; n < 255 && i + sizeof(__m128i) <= len; n++)
		{
			__m128i		block = _mm_loadu_si128((const __m128i *) (buf + i));

			sums = _mm_sub_epi8(sums, _mm_cmpeq_epi8(block, pattern));
			i += sizeof(__m128i);
		}
		_mm_storeu_si128((__m128i *) halves, _mm_sad_epu8(sums, zero));
		count += halves[0] + halves[1];
	}
#endif
	for (; i < len; i++)
		count += buf[i] == byte;
	return count;
}

/* Are all bytes ASCII, and none of them NUL? */
static bool
is_plain_ascii(const char *buf, Size len)
{
	Size		i = 0;

	for (; i + sizeof(uint64) <= len; i += sizeof(uint64))
	{
		uint64		word;

		memcpy(&word, buf + i, sizeof(word));
		/* a byte of 0 borrows, a byte of 0x80 or more has its high bit */
		if ((word | (word - UINT64CONST(0x0101010101010101))) &
			UINT64CONST(0x8080808080808080))
			return false;
	}
	for (; i < len; i++)
		if (buf[i] == '\0' || IS_HIGHBIT_SET(buf[i]))
			return false;
	return true;
}

/* ------------------------------------------------------------------------
 * The machine
 * ------------------------------------------------------------------------
 */

static inline QuoteState
next_state(const IngestChunkQueue *queue, QuoteState state, char c)
{
	switch (state)
	{
		case STATE_OUTSIDE:
			return c == queue->quote ? STATE_INSIDE : STATE_OUTSIDE;
		case STATE_INSIDE:
			if (c == queue->quote)
				return STATE_OUTSIDE;
			if (c == queue->escape)
				return STATE_ESCAPED;
			return STATE_INSIDE;
		default:
			return STATE_INSIDE;
	}
}

/*
 * The state after len bytes, for every state before them.
 */
static void
compute_states(const IngestChunkQueue *queue, const char *buf, Size len,
			   QuoteState after[NUM_QUOTE_STATES])
{
	bool		same = queue->escape == queue->quote;

	if (len == 0)
	{
		for (int i = 0; i < NUM_QUOTE_STATES; i++)
			after[i] = i;
		return;
	}
	if (same ||
		(memchr(buf, queue->quote, len) == NULL &&
		 memchr(buf, queue->escape, len) == NULL))
	{
		bool		odd = count_byte(buf, len, queue->quote) % 2 != 0;

		after[STATE_OUTSIDE] = odd ? STATE_INSIDE : STATE_OUTSIDE;
		after[STATE_INSIDE] = odd ? STATE_OUTSIDE : STATE_INSIDE;
		after[STATE_ESCAPED] = after[STATE_INSIDE];
		return;
	}
	for (int i = 0; i < NUM_QUOTE_STATES; i++)
		after[i] = i;
	for (Size pos = 0; pos < len; pos++)
		for (int i = 0; i < NUM_QUOTE_STATES; i++)
			after[i] = next_state(queue, after[i], buf[pos]);
}

/*
 * Position after the first line end outside of quotes, or len + 1 if there is
 * none.
 */
static Size
find_record(const IngestChunkQueue *queue, const char *buf, Size len,
			QuoteState state)
{
	for (Size pos = 0; pos < len; pos++)
	{
		if (state == STATE_OUTSIDE && buf[pos] == queue->terminator)
			return pos + 1;
		state = next_state(queue, state, buf[pos]);
	}
	return len + 1;
}

/* ------------------------------------------------------------------------
 * The queue
 * ------------------------------------------------------------------------
 */

Size
ingest_chunk_queue_size(int nprocesses)
{
	return add_size(offsetof(IngestChunkQueue, current),
					mul_size(nprocesses, sizeof(int64)));
}

void
ingest_chunk_queue_init(IngestChunkQueue *queue,
						const CopyFormatOptions *format, IngestCsvEol eol,
						int64 start, int64 end, bool grows, int64 first_line,
						int64 chunk_size, int nprocesses)
{
	queue->quote = format->quote[0];
	queue->escape = format->escape[0];
	queue->terminator = eol == INGEST_CSV_EOL_CR ? '\r' : '\n';
	queue->eol = eol;
	queue->start = start;
	queue->first_line = first_line;
	queue->chunk_size = chunk_size;
	queue->nprocesses = nprocesses;

	SpinLockInit(&queue->mutex);
	ConditionVariableInit(&queue->changed);
	queue->end = end;
	queue->grows = grows;
	queue->next = 0;
	queue->stop = PG_INT64_MAX;
	queue->resolved = 0;
	queue->state = STATE_RECORD_BEGINS;
	for (int i = 0; i < nprocesses; i++)
		queue->current[i] = CHUNK_NONE;
}

int64
ingest_chunk_position(IngestChunkQueue *queue)
{
	int64		next;
	int64		end;

	SpinLockAcquire(&queue->mutex);
	next = queue->next;
	end = queue->end;
	SpinLockRelease(&queue->mutex);
	return Min(queue->start + next * queue->chunk_size, end);
}

void
ingest_chunk_set_feed(IngestChunks *chunks, IngestFeed *feed)
{
	chunks->feed = feed;
}

bool
ingest_chunk_read_on(IngestChunks *chunks)
{
	IngestChunkQueue *queue = chunks->queue;
	IngestFeed *feed = chunks->feed;
	bool		more = feed != NULL && feed->more(feed);

	if (feed != NULL)
	{
		SpinLockAcquire(&queue->mutex);
		queue->end = feed->end;
		queue->grows = more;
		SpinLockRelease(&queue->mutex);
		ConditionVariableBroadcast(&queue->changed);
	}
	return more;
}

/* Look how far the file has come. */
static void
look_at_end(IngestChunks *chunks)
{
	IngestChunkQueue *queue = chunks->queue;

	SpinLockAcquire(&queue->mutex);
	chunks->end = queue->end;
	chunks->grows = queue->grows;
	SpinLockRelease(&queue->mutex);
}

/*
 * Wait until the file is there up to a position, or all of it.
 */
static void
wait_for_bytes(IngestChunks *chunks, int64 position)
{
	if (!chunks->grows || chunks->end >= position)
		return;
	for (;;)
	{
		look_at_end(chunks);
		if (!chunks->grows || chunks->end >= position)
			break;
		if (chunks->feed != NULL)
			(void) ingest_chunk_read_on(chunks);
		else
			ConditionVariableSleep(&chunks->queue->changed, PG_WAIT_EXTENSION);
	}
	ConditionVariableCancelSleep();
}

/* Where a chunk begins in the file. */
static inline int64
chunk_start(const IngestChunkQueue *queue, int64 chunk)
{
	return queue->start + chunk * queue->chunk_size;
}

/* We have this chunk now, or CHUNK_NONE. */
static void
set_current(IngestChunks *chunks, int64 chunk)
{
	IngestChunkQueue *queue = chunks->queue;

	SpinLockAcquire(&queue->mutex);
	queue->current[chunks->process] = chunk;
	SpinLockRelease(&queue->mutex);
	ConditionVariableBroadcast(&queue->changed);
}

/*
 * Take the next chunk; false if there is none.
 */
static bool
take_chunk(IngestChunks *chunks)
{
	IngestChunkQueue *queue = chunks->queue;

	SpinLockAcquire(&queue->mutex);
	chunks->active = queue->next < queue->stop &&
		(queue->grows || chunk_start(queue, queue->next) < queue->end);
	if (chunks->active)
		chunks->chunk = queue->next++;
	queue->current[chunks->process] = chunks->active ?
		chunks->chunk : CHUNK_NONE;
	SpinLockRelease(&queue->mutex);
	ConditionVariableBroadcast(&queue->changed);

	/* is there anything in it? */
	if (chunks->active)
	{
		wait_for_bytes(chunks, chunk_start(queue, chunks->chunk) + 1);
		chunks->active = chunk_start(queue, chunks->chunk) < chunks->end;
		if (!chunks->active)
			set_current(chunks, CHUNK_NONE);
	}
	return chunks->active;
}

/*
 * The state before our chunk, as soon as it is known.
 */
static QuoteState
wait_for_state(IngestChunks *chunks)
{
	IngestChunkQueue *queue = chunks->queue;
	QuoteState	state = STATE_OUTSIDE;
	bool		known;

	for (;;)
	{
		SpinLockAcquire(&queue->mutex);
		known = queue->resolved == chunks->chunk;
		if (known)
			state = queue->state;
		SpinLockRelease(&queue->mutex);
		if (known)
			break;
		ConditionVariableSleep(&queue->changed, PG_WAIT_EXTENSION);
	}
	ConditionVariableCancelSleep();
	return state;
}

/* Tell the state after our chunk. */
static void
pass_state(IngestChunks *chunks, QuoteState state)
{
	IngestChunkQueue *queue = chunks->queue;

	SpinLockAcquire(&queue->mutex);
	Assert(queue->resolved == chunks->chunk);
	queue->resolved++;
	queue->state = state;
	if (state == STATE_DATA_ENDED)
		queue->stop = Min(queue->stop, chunks->chunk + 1);
	SpinLockRelease(&queue->mutex);
	ConditionVariableBroadcast(&queue->changed);
}

void
ingest_chunk_fail(IngestChunks *chunks)
{
	IngestChunkQueue *queue = chunks->queue;

	if (!chunks->active)
		return;

	SpinLockAcquire(&queue->mutex);
	queue->stop = Min(queue->stop, chunks->chunk + 1);
	SpinLockRelease(&queue->mutex);

	for (;;)
	{
		bool		earlier = false;

		SpinLockAcquire(&queue->mutex);
		for (int i = 0; i < queue->nprocesses; i++)
			earlier |= queue->current[i] < chunks->chunk;
		SpinLockRelease(&queue->mutex);
		if (!earlier)
			break;
		ConditionVariableSleep(&queue->changed, PG_WAIT_EXTENSION);
	}
	ConditionVariableCancelSleep();
}

/* ------------------------------------------------------------------------
 * A process's chunk
 * ------------------------------------------------------------------------
 */

IngestChunks *
ingest_chunk_attach(IngestChunkQueue *queue, int process, const char *path,
					const CopyFormatOptions *format, int max_fields)
{
	IngestChunks *chunks = palloc0(sizeof(IngestChunks));

	Assert(process < queue->nprocesses);
	chunks->queue = queue;
	chunks->process = process;
	chunks->path = pstrdup(path);
	chunks->context = CurrentMemoryContext;
	chunks->csv = ingest_csv_begin(format, max_fields);
	ingest_csv_set_eol(chunks->csv, queue->eol);
	look_at_end(chunks);
	chunks->fd = OpenTransientFile(path, O_RDONLY | PG_BINARY);
	if (chunks->fd < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\" for reading: %m", path)));
	return chunks;
}

/*
 * Have the file in memory from buf_start up to position end, or to the end of
 * the data.  Returns the number of bytes added.
 */
static Size
read_up_to(IngestChunks *chunks, int64 end)
{
	Size		before = chunks->buf_len;

	wait_for_bytes(chunks, end);
	end = Min(end, chunks->end);
	if (end - chunks->buf_start > (int64) chunks->buf_size)
	{
		Size		size = end - chunks->buf_start;

		if (chunks->buf == NULL)
			chunks->buf = MemoryContextAllocHuge(chunks->context,
												 size + INGEST_CSV_SLACK);
		else
			chunks->buf = repalloc_huge(chunks->buf,
										size + INGEST_CSV_SLACK);
		chunks->buf_size = size;
	}
	while (chunks->buf_start + (int64) chunks->buf_len < end)
	{
		ssize_t		n;

		CHECK_FOR_INTERRUPTS();
		n = pg_pread(chunks->fd, chunks->buf + chunks->buf_len,
					 end - chunks->buf_start - chunks->buf_len,
					 chunks->buf_start + chunks->buf_len);
		if (n < 0)
		{
			if (errno == EINTR)
				continue;
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not read file \"%s\": %m", chunks->path)));
		}
		if (n == 0)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_EXCEPTION),
					 errmsg("file \"%s\" has become shorter while it was read",
							chunks->path)));
		chunks->buf_len += n;
	}
	return chunks->buf_len - before;
}

static inline char *
buffer_at(const IngestChunks *chunks, int64 pos)
{
	return chunks->buf + (pos - chunks->buf_start);
}

/* Are the bytes in memory the last of the file? */
static inline bool
at_end_of_file(const IngestChunks *chunks)
{
	return !chunks->grows &&
		chunks->buf_start + (int64) chunks->buf_len == chunks->end;
}

/*
 * May a line of our chunk be the end-of-data marker?
 */
static bool
may_have_marker(const IngestChunks *chunks)
{
	const char *start = buffer_at(chunks, chunks->buf_start);
	const char *end = buffer_at(chunks, chunks->limit);
	const char *p = start;

	if (!INGEST_COPY_CSV_END_MARKER)
		return false;
	while ((p = memchr(p, '\\', end - p)) != NULL)
	{
		if (p == start || p[-1] == chunks->queue->terminator)
			return true;
		p++;
	}
	return false;
}

/*
 * Walk through the records of our chunk from chunks->pos on; is the marker
 * among them?  Errors on the way are left for the real pass.
 */
static bool
has_marker(IngestChunks *chunks)
{
	int64		pos = chunks->pos;

	while (pos < chunks->limit)
	{
		IngestCsvStatus status;
		Size		done;
		int64		records = 0;
		int64		lines = 0;

		status = ingest_csv_skip(chunks->csv, buffer_at(chunks, pos),
								 chunks->buf_start + chunks->buf_len - pos,
								 at_end_of_file(chunks), PG_INT64_MAX,
								 chunks->limit - pos, &done,
								 &records, &lines);
		if (status == INGEST_CSV_END)
			return pos + (int64) done < chunks->end;
		pos += done;
		if (status != INGEST_CSV_MORE)
			break;
		/* nobody has looked at the bytes that come */
		chunks->plain_ascii = false;
		read_up_to(chunks, chunks->buf_start + 2 * chunks->buf_len);
	}
	return false;
}

/*
 * Read the chunk we have taken, learn the state before it and pass the state
 * after it on.  chunks->pos is the first record then; at or beyond limit if
 * there is none.
 */
static void
begin_chunk(IngestChunks *chunks)
{
	IngestChunkQueue *queue = chunks->queue;
	QuoteState	after[NUM_QUOTE_STATES];
	QuoteState	state;
	QuoteState	state_after;
	bool		marker;
	Size		len;

	chunks->buf_start = chunk_start(queue, chunks->chunk);
	chunks->buf_len = 0;
	chunks->limit = chunks->buf_start + queue->chunk_size;
	wait_for_bytes(chunks, chunks->limit);
	chunks->limit = Min(chunks->limit, chunks->end);
	chunks->pos = chunks->line_pos = chunks->buf_start;
	len = chunks->limit - chunks->buf_start;
	read_up_to(chunks, chunks->limit + Min(TAIL_SIZE, queue->chunk_size));

	chunks->plain_ascii = is_plain_ascii(chunks->buf, chunks->buf_len);
	compute_states(queue, chunks->buf, len, after);
	marker = may_have_marker(chunks);

	state = wait_for_state(chunks);
	if (state == STATE_DATA_ENDED)
	{
		chunks->pos = chunks->limit;
		pass_state(chunks, STATE_DATA_ENDED);
		return;
	}
	if (state == STATE_RECORD_BEGINS)
		state_after = after[STATE_OUTSIDE];
	else
		state_after = after[state];
	if (state_after == STATE_OUTSIDE &&
		chunks->buf[len - 1] == queue->terminator)
		state_after = STATE_RECORD_BEGINS;

	/* the others need not wait while we look for our first record */
	if (!marker)
		pass_state(chunks, state_after);
	if (state != STATE_RECORD_BEGINS)
		chunks->pos += find_record(queue, chunks->buf, len, state);
	if (marker)
		pass_state(chunks, has_marker(chunks) ?
				   STATE_DATA_ENDED : state_after);
}

/* Complain if bytes from the file's position start on are not characters. */
static void
verify_bytes(IngestChunks *chunks, int64 start, const char *data, Size len)
{
	int			encoding = GetDatabaseEncoding();
	int			valid = pg_encoding_verifymbstr(encoding, data, (int) len);

	if (likely((Size) valid == len))
		return;
	chunks->line_pos = start + valid;

	/* COPY looks at the byte behind a CR before it counts that */
	if (valid > 0 && data[valid - 1] == '\r')
		chunks->line_pos--;
	report_invalid_encoding(encoding, data + valid, (int) len - valid);
}

/*
 * COPY looks at the character behind a CR, at pos, before it takes that for a
 * line end.
 */
static void
verify_next(IngestChunks *chunks, int64 pos)
{
	int			encoding = GetDatabaseEncoding();
	char		bytes[MAX_MULTIBYTE_CHAR_LEN];
	ssize_t		n;

	wait_for_bytes(chunks, pos + (int64) sizeof(bytes));
	n = pg_pread(chunks->fd, bytes,
				 Min((int64) sizeof(bytes), chunks->end - pos), pos);
	if (n > 0 && pg_encoding_verifymbchar(encoding, bytes, (int) n) < 0)
		report_invalid_encoding(encoding, bytes, (int) n);
}

/*
 * COPY checks the bytes of a record before it looks at its fields, and does
 * not show a record that is not valid.
 */
static void
verify_record(IngestChunks *chunks, IngestCsvRecord *record)
{
	char	   *data = record->data;

	record->data = NULL;
	verify_bytes(chunks, chunks->pos - record->consumed, data, record->len);
	if (record->consumed == record->len + 1 && data[record->len] == '\r')
		verify_next(chunks, chunks->pos);
	record->data = data;
}

/*
 * Place in the file behind that many line ends of the record at pos.
 */
static int64
pass_lines(const IngestChunks *chunks, int64 lines)
{
	char		c = chunks->queue->eol == INGEST_CSV_EOL_NL ? '\n' : '\r';
	const char *p = buffer_at(chunks, chunks->pos);
	const char *end = chunks->buf + chunks->buf_len;

	for (; lines > 0 && p < end; p++)
		lines -= *p == c;
	return chunks->buf_start + (p - chunks->buf);
}

bool
ingest_chunk_next(IngestChunks *chunks, IngestCsvRecord *record)
{
	record->data = NULL;
	for (;;)
	{
		IngestCsvStatus status;

		if (!chunks->active || chunks->pos >= chunks->limit)
		{
			CHECK_FOR_INTERRUPTS();
			if (!take_chunk(chunks))
				return false;
			begin_chunk(chunks);
			continue;
		}

		status = ingest_csv_next(chunks->csv, buffer_at(chunks, chunks->pos),
								 chunks->buf_start + chunks->buf_len -
								 chunks->pos,
								 at_end_of_file(chunks), record);
		if (likely(status == INGEST_CSV_RECORD))
		{
			chunks->pos += record->consumed;
			chunks->line_pos = chunks->pos -
				(record->consumed - record->len);
			if (!chunks->plain_ascii)
				verify_record(chunks, record);
			if (!ingest_csv_split(chunks->csv, record))
				ereport(ERROR,
						(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
						 errmsg("unterminated CSV quoted field")));
			return true;
		}
		if (status == INGEST_CSV_MORE)
		{
			Size		more = Max(chunks->buf_len, TAIL_SIZE);

			chunks->plain_ascii = false;
			read_up_to(chunks, chunks->buf_start + chunks->buf_len + more);
		}
		else if (status == INGEST_CSV_END)
			chunks->pos = chunks->limit;
		else
		{
			verify_bytes(chunks, chunks->pos, buffer_at(chunks, chunks->pos),
						 record->len);

			/* COPY is in the record's last line then */
			chunks->line_pos = pass_lines(chunks, record->lines);
			if (status == INGEST_CSV_BAD_CR)
				verify_next(chunks, chunks->pos + record->len + 1);
			ingest_csv_report(status);
		}
	}
}

/*
 * COPY counts records, and within quotes the first byte of each line end.
 */
int64
ingest_chunk_line(IngestChunks *chunks)
{
	const IngestChunkQueue *queue = chunks->queue;
	int64		line = queue->first_line;
	QuoteState	state = STATE_OUTSIDE;
	char		inside = queue->eol == INGEST_CSV_EOL_NL ? '\n' : '\r';
	char		block[8192];
	int64		pos = queue->start;

	while (pos < chunks->line_pos)
	{
		ssize_t		n = pg_pread(chunks->fd, block,
								 Min((int64) sizeof(block),
									 chunks->line_pos - pos), pos);

		if (n <= 0)
			break;
		if (queue->eol == INGEST_CSV_EOL_NL)
			line += count_byte(block, n, '\n');
		else
		{
			for (ssize_t i = 0; i < n; i++)
			{
				if (block[i] == (state == STATE_OUTSIDE ?
								 queue->terminator : inside))
					line++;
				state = next_state(queue, state, block[i]);
			}
		}
		pos += n;
	}
	return line;
}

void
ingest_chunk_detach(IngestChunks *chunks)
{
	set_current(chunks, CHUNK_NONE);
	CloseTransientFile(chunks->fd);
}
