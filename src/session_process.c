/*-------------------------------------------------------------------------
 *
 * session_process.c
 *		Background sessions, the session's side: a dynamic background worker
 *		that becomes its owner's user, serves requests and, if a keeper, says
 *		farewell.
 *
 * A keeper takes SIGTERM as a wish, not as an order: the handler cancels the
 * request at work, if there is one, and the keeper then leaves by way of its
 * farewell.  So there is one way out for a keeper, whether the owner ends, an
 * administrator terminates the keeper, or the server shuts down, which waits
 * for it.  Its patience is bounded, for a shutdown's sake.
 *
 * Locks that a keeper holds across its transactions are given back by the end
 * of a failed one, by the farewell and at exit.  The server would not do the
 * last: a process that ends outside a transaction leaves its session locks in
 * shared memory.
 *
 * The session has the owner's client encoding, as COPY takes a file's encoding
 * from it, so the server converts the text of messages to it.  The session
 * says what encoding follows, and the owner converts back.  Errors are sent
 * in the server's encoding, for one that cannot be converted would otherwise
 * be replaced by the error of the conversion, and take a keeper with it.
 *
 * Portions Copyright (c) 2026, the ingest_tools authors
 *
 * IDENTIFICATION
 *		src/session_process.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "libpq/pqformat.h"
#include "libpq/pqmq.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/shm_mq.h"
#include "storage/shm_toc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "session.h"
#include "session_internal.h"

/* How long, in ms, a keeper waits for its siblings, for locks, and to retry. */
#define KEEPER_SIBLINGS_PATIENCE	10000
#define KEEPER_LOCK_PATIENCE		60000
#define KEEPER_RETRY_INTERVAL		1000

static bool am_keeper = false;
static SessionState *my_state = NULL;
static shm_mq_handle *my_requests = NULL;
static char *my_farewell = NULL;
static volatile sig_atomic_t leave_requested = false;
static volatile sig_atomic_t saying_farewell = false;

static void keeper_sigterm(SIGNAL_ARGS);
static void attach_segment(dsm_segment *segment, shm_toc *toc);
static void become_caller(shm_toc *toc);
static void release_locks(int code, Datum arg);
static void use_encoding(int encoding);
static bool receive_request(StringInfo request);
static void run_request(StringInfo request);
static void call_handler(const char *name, StringInfo request,
						 StringInfo reply);
static void replace_farewell(StringInfo request);
static void execute_sql(const char *sql);
static void recover(void);
static void say_farewell(void);
static void report_leaving(void);
static void await_siblings(void);
static bool try_farewell(bool *again);
static void nap(long timeout_ms, uint32 wait_event);

/*
 * Main function of the session's process.
 *
 * There is no resource owner here, so that the segment stays mapped until the
 * process exits (as in ParallelWorkerMain()).
 */
void
ingest_session_main(Datum main_arg)
{
	MemoryContext request_context;
	dsm_segment *segment;
	shm_toc    *toc;

	am_keeper = MyBgworkerEntry->bgw_extra[0];
	pqsignal(SIGTERM, am_keeper ? keeper_sigterm : die);
	BackgroundWorkerUnblockSignals();

	request_context = AllocSetContextCreate(TopMemoryContext,
											"ingest_tools request",
											ALLOCSET_DEFAULT_SIZES);

	segment = dsm_attach(DatumGetUInt32(main_arg));
	if (segment == NULL)
		return;					/* the owner is gone already */
	toc = shm_toc_attach(SESSION_MAGIC, dsm_segment_address(segment));
	if (toc == NULL)
		elog(ERROR, "invalid magic number in dynamic shared memory segment");
	attach_segment(segment, toc);
	become_caller(toc);
	before_shmem_exit(release_locks, (Datum) 0);

	pgstat_report_activity(STATE_IDLE, my_state->purpose);
	pq_putemptymessage(SESSION_REPLY);

	for (;;)
	{
		StringInfoData request;

		MemoryContextSwitchTo(request_context);
		MemoryContextReset(request_context);
		initStringInfo(&request);
		if (!receive_request(&request))
			break;
		pgstat_report_activity(STATE_RUNNING, my_state->purpose);
		run_request(&request);
		pgstat_report_activity(STATE_IDLE, my_state->purpose);
	}

	if (my_farewell != NULL)
		say_farewell();
}

/*
 * SIGTERM in a keeper: cancel what it does and leave, see the head of this
 * file.
 */
static void
keeper_sigterm(SIGNAL_ARGS)
{
	int			save_errno = errno;

	(void) postgres_signal_arg;
	leave_requested = true;
	if (!saying_farewell)
	{
		QueryCancelPending = true;
		InterruptPending = true;
	}
	SetLatch(MyLatch);

	errno = save_errno;
}

/* Attach to the queues; from here on errors reach the owner. */
static void
attach_segment(dsm_segment *segment, shm_toc *toc)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(TopMemoryContext);
	shm_mq	   *queue;

	my_state = shm_toc_lookup(toc, SESSION_KEY_STATE, false);
	my_state->pid = MyProcPid;

	queue = shm_toc_lookup(toc, SESSION_KEY_REQUESTS, false);
	shm_mq_set_receiver(queue, MyProc);
	my_requests = shm_mq_attach(queue, segment, NULL);

	queue = shm_toc_lookup(toc, SESSION_KEY_REPLIES, false);
	shm_mq_set_sender(queue, MyProc);
	pq_redirect_to_shm_mq(segment, shm_mq_attach(queue, segment, NULL));

	MemoryContextSwitchTo(oldcontext);
}

/*
 * Connect to the owner's database as whom the owner decided, with its
 * libraries and settings.
 *
 * As in ParallelWorkerMain(), InitializingParallelWorker makes the server
 * take over the identity instead of looking up, by name, whether it may be
 * assumed: the owner has it, whether the role may log in or not, and a role
 * of that name may have become another one.  session_authorization and role
 * among the settings then change nothing but what SHOW says.
 */
static void
become_caller(shm_toc *toc)
{
	InitializingParallelWorker = true;
	SetAuthenticatedUserIdCompat(my_state->authenticated_user,
								 my_state->authenticated_is_superuser);
	SetSessionAuthorization(my_state->session_user,
							my_state->session_is_superuser);
	SetCurrentRoleId(my_state->role, my_state->role_is_superuser);
	BackgroundWorkerInitializeConnectionByOid(my_state->database,
											  my_state->authenticated_user,
											  BGWORKER_BYPASS_ALLOWCONN |
											  BGWORKER_BYPASS_ROLELOGINCHECK);

	/* Libraries first, as they may define settings. */
	StartTransactionCommand();
	RestoreLibraryState(shm_toc_lookup(toc, SESSION_KEY_LIBRARIES, false));
	RestoreGUCState(shm_toc_lookup(toc, SESSION_KEY_SETTINGS, false));
	InitializingParallelWorker = false;

	if (my_state->definer)
	{
		/* Make SHOW, and what RESET goes back to, say the truth. */
		SetConfigOption("session_authorization",
						GetUserNameFromId(my_state->session_user, false),
						PGC_USERSET, PGC_S_SESSION);
		SetConfigOption("role", "none", PGC_USERSET, PGC_S_SESSION);
	}

	/* The owner's transaction may write, so ours may. */
	SetConfigOption("default_transaction_read_only", "off",
					PGC_USERSET, PGC_S_SESSION);

	/* This timeout, of PostgreSQL 17, would end a keeper by FATAL. */
	if (am_keeper && GetConfigOption("transaction_timeout", true, false))
		SetConfigOption("transaction_timeout", "0",
						PGC_USERSET, PGC_S_SESSION);
	CommitTransactionCommand();
	use_encoding(pg_get_client_encoding());
}

/*
 * Release all locks, those of the session too: before_shmem_exit callback.
 * It runs before the owner can see that the process is gone.
 */
static void
release_locks(int code, Datum arg)
{
	(void) code;
	(void) arg;
	AbortOutOfAnyTransaction();
	LockReleaseAll(DEFAULT_LOCKMETHOD, true);
}

/* Make the text of messages be in an encoding, and tell the owner. */
static void
use_encoding(int encoding)
{
	StringInfoData message;

	/* The conversion was prepared when the setting was restored. */
	if (SetClientEncoding(encoding) < 0)
		elog(ERROR, "SetClientEncoding(%d) failed", encoding);

	pq_beginmessage(&message, SESSION_ENCODING);
	pq_sendbytes(&message, (char *) &encoding, sizeof(encoding));
	pq_endmessage(&message);
}

/*
 * Wait for a message.  Returns false when it is time to leave: the owner says
 * so, is gone, or (a keeper) SIGTERM was received.
 */
static bool
receive_request(StringInfo request)
{
	for (;;)
	{
		shm_mq_result result;
		Size		len;
		void	   *data;

		result = shm_mq_receive(my_requests, &len, &data, true);
		if (result == SHM_MQ_DETACHED)
			return false;
		if (leave_requested)
		{
			report_leaving();
			return false;
		}
		if (result == SHM_MQ_SUCCESS)
		{
			appendBinaryStringInfo(request, data, len);
			if (request->data[0] != SESSION_LEAVE)
				return true;
			my_farewell = NULL;
			return false;
		}
		nap(-1, WAIT_EVENT_MESSAGE_QUEUE_RECEIVE);
	}
}

/*
 * Do what a message asks for and reply.  After an error, which the owner has
 * then received in place of the reply, the session is idle again: it is for
 * the owner to end it.
 */
static void
run_request(StringInfo request)
{
	PG_TRY();
	{
		char		type = pq_getmsgbyte(request);
		const char *handler = pq_getmsgrawstring(request);
		StringInfoData reply;
		StringInfoData message;

		initStringInfo(&reply);
		if (type == SESSION_CALL)
			call_handler(handler, request, &reply);
		else
			replace_farewell(request);

		/* Others are to see our statistics once the owner has the reply. */
		pgstat_report_stat(true);

		pq_beginmessage(&message, SESSION_REPLY);
		pq_sendbytes(&message, reply.data, reply.len);
		pq_endmessage(&message);
	}
	PG_CATCH();
	{
		recover();
	}
	PG_END_TRY();
}

/* Call a handler with the rest of a message. */
static void
call_handler(const char *name, StringInfo request, StringInfo reply)
{
	StringInfoData body;
	IngestSessionHandler handler;

	handler = (IngestSessionHandler)
		load_external_function(MyBgworkerEntry->bgw_library_name, name, true,
							   NULL);

	/* Give it its own buffer, aligned, with the cursor at the start. */
	initStringInfo(&body);
	appendBinaryStringInfo(&body, request->data + request->cursor,
						   request->len - request->cursor);
	handler(&body, reply);
}

/* Take the rest of a message, which may be nothing, as the farewell. */
static void
replace_farewell(StringInfo request)
{
	char	   *old = my_farewell;

	if (request->cursor < request->len)
		my_farewell = MemoryContextStrdup(TopMemoryContext,
										  pq_getmsgrawstring(request));
	else
		my_farewell = NULL;
	if (old != NULL)
		pfree(old);
}

/* Handler of ingest_session_execute(). */
void
ingest_session_run_sql(StringInfo request, StringInfo reply)
{
	(void) reply;
	execute_sql(pq_getmsgrawstring(request));
}

/*
 * Handler of ingest_session_lock().  The transaction is there so that an error
 * while waiting is cleaned up after; its end leaves session locks alone.
 */
void
ingest_session_take_locks(StringInfo request, StringInfo reply)
{
	(void) reply;
	StartTransactionCommand();
	while (request->cursor < request->len)
	{
		LockRelId	relid = {InvalidOid, MyDatabaseId};

		pq_copymsgbytes(request, (char *) &relid.relId, sizeof(Oid));
		LockRelationIdForSession(&relid, AccessShareLock);
	}
	CommitTransactionCommand();
}

/* Run SQL commands in one transaction, none of them found by search_path. */
static void
execute_sql(const char *sql)
{
	int			save_nestlevel;
	int			result;

	SetCurrentStatementStartTimestamp();
	debug_query_string = sql;
	pgstat_report_activity(STATE_RUNNING, sql);

	StartTransactionCommand();
	save_nestlevel = NewGUCNestLevel();
	(void) set_config_option("search_path", "pg_catalog, pg_temp",
							 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
							 true, 0, false);
	SPI_connect();
	PushActiveSnapshot(GetTransactionSnapshot());
	result = SPI_execute(sql, false, 0);
	if (result < 0)
		elog(ERROR, "SPI_execute failed: %s",
			 SPI_result_code_string(result));
	PopActiveSnapshot();
	SPI_finish();
	AtEOXact_GUC(true, save_nestlevel);
	CommitTransactionCommand();

	debug_query_string = NULL;
}

/*
 * Report the current error, to the owner if it is still there, and get back
 * to a state without a transaction (see the like in PostgresMain()).  A
 * cancel that keeper_sigterm() asked for is left to report_leaving().
 */
static void
recover(void)
{
	error_context_stack = NULL;
	HOLD_INTERRUPTS();
	if (!leave_requested || saying_farewell ||
		geterrcode() != ERRCODE_QUERY_CANCELED)
	{
		use_encoding(GetDatabaseEncoding());
		EmitErrorReport();
	}
	debug_query_string = NULL;
	AbortOutOfAnyTransaction();
	use_encoding(pg_char_to_encoding(GetConfigOption("client_encoding",
													 false, false)));
	FlushErrorState();
	RESUME_INTERRUPTS();
}

/* Tell an owner who is still there that its keeper is leaving. */
static void
report_leaving(void)
{
	PG_TRY();
	{
		ereport(ERROR,
				(errcode(ERRCODE_ADMIN_SHUTDOWN),
				 errmsg("terminating background worker \"%s\" due to administrator command",
						MyBgworkerEntry->bgw_type)));
	}
	PG_CATCH();
	{
		recover();
	}
	PG_END_TRY();
}

/*
 * Run a keeper's farewell, once the owner's other sessions are gone: one of
 * them could otherwise still commit what is to be removed.
 */
static void
say_farewell(void)
{
	TimestampTz deadline;
	char		patience[16];

	saying_farewell = true;
	QueryCancelPending = false;
	whereToSendOutput = DestNone;
	pgstat_report_activity(STATE_RUNNING, my_farewell);

	/* What may take long now must not hold up who waits for them. */
	LockReleaseAll(DEFAULT_LOCKMETHOD, true);
	await_siblings();

	/*
	 * Nothing must keep a shutdown waiting for ever: neither a lock, nor a
	 * standby that is gone.
	 */
	snprintf(patience, sizeof(patience), "%dms", KEEPER_LOCK_PATIENCE);
	SetConfigOption("lock_timeout", patience, PGC_USERSET, PGC_S_SESSION);
	SetConfigOption("synchronous_commit", "local", PGC_USERSET,
					PGC_S_SESSION);

	deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
										   KEEPER_LOCK_PATIENCE);
	for (;;)
	{
		bool		again;

		if (try_farewell(&again))
			break;
		if (!again || GetCurrentTimestamp() >= deadline)
		{
			ereport(WARNING,
					(errmsg("background session could not remove what was left behind"),
					 errdetail("The commands left to do are: %s",
							   my_farewell)));
			break;
		}
		nap(KEEPER_RETRY_INTERVAL, WAIT_EVENT_BGWORKER_SHUTDOWN);
	}
}

/* Wait, but not for ever, until the sessions begun after this are gone. */
static void
await_siblings(void)
{
	TimestampTz deadline =
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
									KEEPER_SIBLINGS_PATIENCE);

	for (int i = 0; i < my_state->nsiblings; i++)
	{
		int			pid = my_state->siblings[i];

		while (pid != 0 && BackendPidGetProc(pid) != NULL &&
			   GetCurrentTimestamp() < deadline)
			nap(10, WAIT_EVENT_BGWORKER_SHUTDOWN);
	}
}

/*
 * Run the farewell.  Returns false, with the error logged, if it failed; sets
 * *again if the failure is of a kind that may pass.
 */
static bool
try_farewell(bool *again)
{
	volatile bool done = false;
	volatile int code = 0;

	PG_TRY();
	{
		execute_sql(my_farewell);
		done = true;
	}
	PG_CATCH();
	{
		code = geterrcode();
		recover();
	}
	PG_END_TRY();

	*again = code == ERRCODE_LOCK_NOT_AVAILABLE ||
		code == ERRCODE_T_R_DEADLOCK_DETECTED ||
		code == ERRCODE_T_R_SERIALIZATION_FAILURE ||
		code == ERRCODE_QUERY_CANCELED;
	return done;
}

/*
 * Wait for the latch or, if timeout_ms is not negative, that long.  There is
 * no request to cancel here, so a cancel is ignored.
 */
static void
nap(long timeout_ms, uint32 wait_event)
{
	(void) WaitLatch(MyLatch,
					 WL_LATCH_SET | WL_EXIT_ON_PM_DEATH |
					 (timeout_ms >= 0 ? WL_TIMEOUT : 0),
					 timeout_ms, wait_event);
	ResetLatch(MyLatch);
	QueryCancelPending = false;
	CHECK_FOR_INTERRUPTS();
}
