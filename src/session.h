/*-------------------------------------------------------------------------
 *
 * session.h
 *		Background sessions: processes that run as the caller, in transactions
 *		of their own, and do what a client's session would do.
 *
 * A session knows nothing of loading.  It is sent the name of a handler (a
 * function of this library) and bytes for it, and answers with bytes.  A
 * handler runs outside any transaction and starts and commits its own.
 *
 * Life of a session: its owner is the backend that began it.  When the owner
 * ends it, raises an error, is cancelled or dies, the session is terminated,
 * in the middle of what it does if need be.  A keeper is the exception: it is
 * left alone until it notices that its owner is gone, then waits for the
 * sessions that the owner began after it to be gone and runs its farewell (SQL
 * that drops what they left), also while the server shuts down.
 *
 * IDENTIFICATION
 *		src/session.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_SESSION_H
#define INGEST_SESSION_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "nodes/pg_list.h"

typedef struct IngestSession IngestSession;

/*
 * A handler reads its request and appends its reply.  Its errors, warnings
 * and notices reach the owner as if raised there.
 *
 * It is declared PGDLLEXPORT, for it is found by name.  CurrentMemoryContext
 * is reset after each request; mind that before PostgreSQL 17 the end of a
 * transaction leaves TopMemoryContext as the current one.  A handler does not
 * call pgstat_report_stat(), so that the per-relation counters of its whole
 * work stay in the process until it returns; they are reported before the
 * reply is sent.
 */
typedef void (*IngestSessionHandler) (StringInfo request, StringInfo reply);

/* Called about every interval while the owner waits; may raise errors. */
typedef void (*IngestSessionTick) (void *arg);

/* in session.c */

/*
 * Start a session and wait until it is connected.  Returns NULL if no
 * background worker slot is free.  May raise errors: in parallel mode, within
 * a security-restricted operation, in a read-only transaction, in recovery.
 *
 * All of a session belongs to the resource owner that is current here: when
 * that is released, because of an error or at the end of the backend, the
 * session is over and the pointer invalid, whatever memory context the caller
 * is in.  In the normal course the session must be finished before that, or
 * the server warns of a leaked segment; a set-returning function that may be
 * left early does so in an ExprContext callback.
 */
extern IngestSession *ingest_session_begin(const char *purpose, bool keeper);

extern int	ingest_session_pid(const IngestSession *session);

/*
 * Send a request; the session must be idle.  The handler finds the bytes of
 * request in a buffer of its own, with the cursor at the first.
 */
extern void ingest_session_send(IngestSession *session, const char *handler,
								StringInfo request);

/*
 * Wait until every session given has answered.  replies[i] (an initialized
 * StringInfo) receives the answer of sessions[i].  tick is called every
 * interval_ms; an error of any one session of this backend, or its death, is
 * raised here at once, and the others are then terminated as the owner's error
 * unwinds.  Raises 40P01 when a session waits, directly or behind others, for
 * a lock that its owner holds, which the server's deadlock detector cannot
 * see.
 */
extern void ingest_session_wait(IngestSession **sessions, int nsessions,
								StringInfo *replies,
								int interval_ms, IngestSessionTick tick,
								void *arg);

/*
 * Run SQL commands in the session in one transaction, with search_path set to
 * pg_catalog, pg_temp for that transaction, and wait for it.
 */
extern void ingest_session_execute(IngestSession *session, const char *sql);

/*
 * Have a keeper hold AccessShareLock on relations of this database, given by
 * OID, across its transactions: until it leaves, starts its farewell or runs
 * into an error.  What it then asks for in that mode it has at once, though
 * others wait for a stronger lock that this transaction is in the way of.
 *
 * The caller's transaction must hold the same locks already, and hold them
 * longer.  The keeper's own wait is one that no deadlock detector sees.
 */
extern void ingest_session_lock(IngestSession *session, List *relids);

/* Replace the farewell of a keeper; NULL for none. */
extern void ingest_session_set_farewell(IngestSession *session,
										const char *sql);

/* Ask the session to leave (a keeper without its farewell) and wait for it. */
extern void ingest_session_finish(IngestSession *session);

/*
 * End sessions from a PG_CATCH block, whatever they do; with a keeper all that
 * were begun after it.  Waits up to five seconds for their processes to be
 * gone: a keeper's is gone when it has run its farewell, so that the client
 * sees the error when nothing is left behind.  Raises no error.  Stops waiting
 * when a cancel or a shutdown arrives; if time was too short (the keeper may
 * need a lock that this very transaction holds) the keeper goes on by itself.
 * Entries that are NULL, or whose session is over, are skipped; all are NULL
 * afterwards.
 *
 * This is a courtesy: without it the sessions end all the same when the error
 * reaches the resource owner that they belong to.
 */
extern void ingest_session_abandon(IngestSession **sessions, int nsessions);

/* Found by name; not to be called. */
extern PGDLLEXPORT void ingest_session_main(Datum main_arg);
extern PGDLLEXPORT void ingest_session_run_sql(StringInfo request,
											   StringInfo reply);
extern PGDLLEXPORT void ingest_session_take_locks(StringInfo request,
												  StringInfo reply);

#endif							/* INGEST_SESSION_H */
