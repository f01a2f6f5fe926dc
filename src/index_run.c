/*-------------------------------------------------------------------------
 *
 * index_run.c
 *		Append-only runs of records in shared memory, past a limit in
 *		temporary files.
 *
 * A run is a chain of pieces in a dynamic shared area.  Pieces start small
 * and double, so that thousands of short runs cost little; a record never
 * crosses pieces.  To relieve memory, the contents of a process's pieces go
 * to the end of its one temporary file, and a piece without content that
 * says where they are takes their place.
 *
 * A record that its writer may still change (see ingest_run_settle) stays in
 * memory; so a run that has such records is passed over when memory is
 * relieved.
 *
 * Concurrency: a store and its runs belong to one process until
 * ingest_run_store_finish(); afterwards nothing changes any more, so readers
 * need no lock.  What separates the two (a barrier) is the caller's.
 *
 * IDENTIFICATION
 *		src/index_run.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/buffile.h"
#include "utils/resowner.h"

#include "compat.h"
#include "index_run.h"
#include "prefault.h"

/* Bytes of a piece, header included: the first of a run, and the largest. */
#define MIN_PIECE_SIZE		1024
#define MAX_PIECE_SIZE		(64 * 1024)

/* A part of a run.  Written by one process, then read by all. */
typedef struct RunPiece
{
	dsa_pointer next;
	uint32		used;			/* bytes of content */
	uint32		capacity;		/* bytes there is room for; 0: in the file */

	/* where the content is, if it is in the file */
	int			fileno;
	off_t		offset;
} RunPiece;

#define PIECE_HEADER		MAXALIGN(sizeof(RunPiece))
#define PieceContent(piece)	((char *) (piece) + PIECE_HEADER)

struct IngestRunStore
{
	dsa_area   *area;
	FileSet    *files;
	int			procno;
	MemoryContext context;

	Size		limit;
	Size		in_memory;		/* bytes of pieces that have content */

	IngestRun **runs;			/* all that are not empty */
	int			nruns;
	int			maxruns;

	BufFile    *file;			/* NULL until something was moved */
};

struct IngestRunReader
{
	dsa_area   *area;
	FileSet    *files;
	MemoryContext context;
	ResourceOwner owner;		/* of segments attached and files opened */

	int			procno;
	dsa_pointer next;

	BufFile    *file;			/* of process file_procno */
	int			file_procno;
	char	   *buffer;			/* content read from the file */
	Size		buffer_size;
};

/* Name of a process's file within the set. */
static void
file_name(char *name, Size size, int procno)
{
	snprintf(name, size, "keys.%d", procno);
}

IngestRunStore *
ingest_run_store_begin(dsa_area *area, FileSet *files, int procno, Size limit)
{
	IngestRunStore *store = palloc0(sizeof(IngestRunStore));

	store->area = area;
	store->files = files;
	store->procno = procno;
	store->context = CurrentMemoryContext;
	store->limit = limit;
	store->maxruns = 16;
	store->runs = palloc(store->maxruns * sizeof(IngestRun *));
	return store;
}

/* Enter a run into the store's list. */
static void
list_run(IngestRunStore *store, IngestRun *run)
{
	if (store->nruns == store->maxruns)
	{
		store->maxruns *= 2;
		store->runs = repalloc_huge(store->runs,
									store->maxruns * sizeof(IngestRun *));
	}
	store->runs[store->nruns++] = run;
	run->listed = true;
}

/*
 * Size of the piece to follow one of the given size, with room for a record
 * of len bytes.  Large pieces are wasted on runs of which there are so many
 * that memory is relieved before the pieces are full.
 */
static Size
next_piece_size(const IngestRunStore *store, Size previous, Size len)
{
	Size		size = Max(previous * 2, MIN_PIECE_SIZE);
	Size		fair = store->limit / (4 * (Size) Max(store->nruns, 1));

	size = Min(size, Max(fair, MIN_PIECE_SIZE));
	size = Min(size, MAX_PIECE_SIZE);
	return Max(size, PIECE_HEADER + len);
}

/* Append an empty piece with room for a record of len bytes. */
static RunPiece *
add_piece(IngestRunStore *store, IngestRun *run, Size len)
{
	RunPiece   *last = (RunPiece *) run->last_address;
	Size		size;
	dsa_pointer pointer;
	RunPiece   *piece;

	if (!run->listed)
		list_run(store, run);

	size = next_piece_size(store,
						   last && last->capacity > 0 ?
						   last->capacity + PIECE_HEADER : 0, len);
	pointer = dsa_allocate(store->area, size);
	piece = dsa_get_address(store->area, pointer);
	ingest_prefault(piece, size);
	piece->next = InvalidDsaPointer;
	piece->used = 0;
	piece->capacity = size - PIECE_HEADER;
	store->in_memory += size;

	if (last)
		last->next = pointer;
	else
		run->first = pointer;
	run->last = pointer;
	run->last_address = (char *) piece;
	if (!DsaPointerIsValid(run->mark))
	{
		run->mark = pointer;
		run->mark_offset = 0;
	}
	return piece;
}

void *
ingest_run_append(IngestRunStore *store, IngestRun *run, Size len)
{
	RunPiece   *piece = (RunPiece *) run->last_address;
	void	   *result;

	Assert(len == MAXALIGN(len));

	if (unlikely(piece == NULL || piece->used + len > piece->capacity))
		piece = add_piece(store, run, len);

	result = PieceContent(piece) + piece->used;
	piece->used += len;
	run->records++;
	return result;
}

void
ingest_run_settle(IngestRunStore *store, IngestRun *run,
				  IngestRunVisitor visit, void *arg)
{
	dsa_pointer pointer = run->mark;
	uint32		offset = run->mark_offset;

	while (DsaPointerIsValid(pointer))
	{
		RunPiece   *piece = dsa_get_address(store->area, pointer);

		if (visit)
			while (offset < piece->used)
				offset += visit(PieceContent(piece) + offset, arg);

		run->mark = pointer;
		run->mark_offset = piece->used;
		pointer = piece->next;
		offset = 0;
	}
}

/* Have all records of the run been settled? */
static bool
is_settled(IngestRun *run)
{
	return run->mark == run->last &&
		run->mark_offset == ((RunPiece *) run->last_address)->used;
}

/* Move the contents of a run's pieces to the file. */
static void
move_run(IngestRunStore *store, IngestRun *run)
{
	RunPiece   *before = NULL;	/* the piece that links to the current one */
	RunPiece   *moved = NULL;	/* a piece this call has made */
	dsa_pointer pointer = run->first;

	while (DsaPointerIsValid(pointer))
	{
		RunPiece   *piece = dsa_get_address(store->area, pointer);
		dsa_pointer next = piece->next;

		if (piece->capacity == 0)
		{
			before = piece;
			pointer = next;
			continue;
		}

		/* Small neighbours share a piece of the file. */
		if (moved == NULL || moved->used + piece->used > MAX_PIECE_SIZE)
		{
			dsa_pointer made = dsa_allocate(store->area, PIECE_HEADER);

			moved = dsa_get_address(store->area, made);
			moved->next = InvalidDsaPointer;
			moved->used = 0;
			moved->capacity = 0;
			BufFileTell(store->file, &moved->fileno, &moved->offset);
			if (before)
				before->next = made;
			else
				run->first = made;
			before = moved;
			run->last = made;
			run->last_address = (char *) moved;
		}
		BufFileWrite(store->file, PieceContent(piece), piece->used);
		moved->used += piece->used;
		store->in_memory -= piece->capacity + PIECE_HEADER;
		dsa_free(store->area, pointer);
		pointer = next;
	}

	run->mark = run->last;
	run->mark_offset = ((RunPiece *) run->last_address)->used;
}

void
ingest_run_relieve(IngestRunStore *store)
{
	if (store->in_memory <= store->limit)
		return;

	if (store->file == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(store->context);
		char		name[MAXPGPATH];

		file_name(name, sizeof(name), store->procno);
		store->file = BufFileCreateFileSet(store->files, name);
		MemoryContextSwitchTo(old);
	}

	for (int i = 0; i < store->nruns; i++)
	{
		if (is_settled(store->runs[i]))
			move_run(store, store->runs[i]);
	}
}

void
ingest_run_store_finish(IngestRunStore *store)
{
	if (store->file)
	{
		BufFileExportFileSet(store->file);
		BufFileClose(store->file);
		store->file = NULL;
	}
}

IngestRunReader *
ingest_run_reader_begin(dsa_area *area, FileSet *files)
{
	IngestRunReader *reader = palloc0(sizeof(IngestRunReader));

	reader->area = area;
	reader->files = files;
	reader->context = CurrentMemoryContext;
	reader->owner = CurrentResourceOwner;
	reader->file_procno = -1;
	return reader;
}

/* Read the run of process procno that begins with the given piece. */
void
ingest_run_reader_start(IngestRunReader *reader, int procno, dsa_pointer first)
{
	reader->procno = procno;
	reader->next = first;
}

/* Open the file of the process whose run is being read. */
static void
open_file(IngestRunReader *reader)
{
	char		name[MAXPGPATH];

	if (reader->file_procno == reader->procno)
		return;
	if (reader->file)
		BufFileClose(reader->file);

	file_name(name, sizeof(name), reader->procno);
	reader->file = BufFileOpenFileSet(reader->files, name, O_RDONLY, false);
	reader->file_procno = reader->procno;
}

/* Read the content of a piece that is in the file. */
static char *
read_piece(IngestRunReader *reader, const RunPiece *piece)
{
	MemoryContext old = MemoryContextSwitchTo(reader->context);

	open_file(reader);
	if (reader->buffer_size < piece->used)
	{
		if (reader->buffer)
			pfree(reader->buffer);
		reader->buffer_size = Max(piece->used, MAX_PIECE_SIZE);
		reader->buffer = palloc(reader->buffer_size);
	}
	if (BufFileSeek(reader->file, piece->fileno, piece->offset, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not seek in temporary file: %m")));
	BufFileReadExact(reader->file, reader->buffer, piece->used);
	MemoryContextSwitchTo(old);
	return reader->buffer;
}

/*
 * Next piece of the run, NULL at its end.  What is returned is only to be
 * read, and valid until the next call.
 */
char *
ingest_run_reader_next(IngestRunReader *reader, Size *len)
{
	ResourceOwner old = CurrentResourceOwner;
	RunPiece   *piece;
	char	   *content;

	if (!DsaPointerIsValid(reader->next))
		return NULL;

	CurrentResourceOwner = reader->owner;
	piece = dsa_get_address(reader->area, reader->next);
	reader->next = piece->next;
	*len = piece->used;
	content = piece->capacity > 0 ? PieceContent(piece) :
		read_piece(reader, piece);
	CurrentResourceOwner = old;
	return content;
}

void
ingest_run_reader_end(IngestRunReader *reader)
{
	if (reader->file)
		BufFileClose(reader->file);
	if (reader->buffer)
		pfree(reader->buffer);
	pfree(reader);
}
