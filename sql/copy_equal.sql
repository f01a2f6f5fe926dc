-- Every strategy leaves the rows that COPY leaves, or fails with COPY's
-- SQLSTATE at COPY's line.
SET client_min_messages = warning;
\pset format unaligned

CREATE TABLE equal_t (a int, b text, c varchar(3), d numeric(4,1) DEFAULT 7);

-- What a command does: a hash of the rows, or an SQLSTATE and line.
CREATE FUNCTION outcome(command text, with_line bool) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	result text;
	context text;
BEGIN
	BEGIN
		EXECUTE command;
		SELECT count(*) || ' rows ' || coalesce(md5(string_agg(t::text, ';' ORDER BY t::text)), '')
		INTO result FROM equal_t t;
		RAISE EXCEPTION USING errcode = 'UE000';
	EXCEPTION
		WHEN SQLSTATE 'UE000' THEN
			NULL;
		WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
			result := SQLSTATE;
			IF with_line THEN
				result := result || coalesce(' ' || substring(context FROM 'COPY [^,]*, (line \d+)'), '');
			END IF;
	END;
	RETURN result;
END $$;

-- COPY against every strategy for the bytes that printf makes.  A statement of
-- many rows does not know which of its lines is wrong.
CREATE FUNCTION compare(bytes text, options text, columns text DEFAULT NULL)
RETURNS TABLE (copy text, different text)
LANGUAGE plpgsql AS $$
DECLARE
	program text := 'printf ''' || replace(bytes, '''', '''\''''') || '''';
	s record;
	ours text;
BEGIN
	copy := outcome(format('COPY equal_t %s FROM PROGRAM %L WITH (%s)',
						   '(' || columns || ')', program, options), true);
	different := '';
	FOR s IN SELECT strategy FROM ingest_strategies() LOOP
		ours := outcome(format('SELECT ingest_load(%L, %L, %L)', 'equal_t', 'program:' || program,
							   options || ', strategy ' || s.strategy ||
							   coalesce(', columns (' || columns || ')', '')),
						true);
		IF ours IS DISTINCT FROM copy AND
			NOT (s.strategy = 'insert_values' AND ours = left(copy, 5)) THEN
			different := different || s.strategy || ': ' || ours || ' ';
		END IF;
	END LOOP;
	RETURN NEXT;
END $$;

-- quoted newlines, quotes, quotes in mid-field, empty against NULL
SELECT * FROM compare('1,"x\ny",abc,1\n2,z,,2.5\n', 'format csv');
SELECT * FROM compare('1,"say ""hi""",abc,1\n', 'format csv');
SELECT * FROM compare('1,x"y,z"w,abc,1\n', 'format csv');
SELECT * FROM compare('1,"x"y,abc,1\n', 'format csv');
SELECT * FROM compare('1,"",abc,1\n2,,abc,1\n', 'format csv');
SELECT * FROM compare('1,  x ,abc,1\n', 'format csv');
SELECT * FROM compare('1,"say \\"hi\\"",abc,1\n', 'format csv, escape ''\''');
SELECT * FROM compare('1,"say \\"hi\\"",abc,1\n', 'format csv');
SELECT * FROM compare('1;''x;y'';abc;1\n', 'format csv, delimiter '';'', quote ''''''''');
SELECT * FROM compare('"1","N/A",abc,N/A\n', 'format csv, null ''N/A''');
SELECT * FROM compare('"1","N/A",abc,N/A\n', 'format csv, null ''N/A'', force_null (b)');
SELECT * FROM compare('1,,abc,1\n', 'format csv, force_not_null (b)');

-- headers
SELECT * FROM compare('a,b,c,d\n1,x,abc,1\n', 'format csv, header');
SELECT * FROM compare('a,b,c,d\n1,x,abc,1\n', 'format csv');
SELECT * FROM compare('a,b,c,d\n1,x,abc,1\n', 'format csv, header match');
SELECT * FROM compare('a,b,c,e\n1,x,abc,1\n', 'format csv, header match');
SELECT * FROM compare('"a\na",b,c,d\n1,x,abc,1\n2,x,abcd,1\n', 'format csv, header');
SELECT * FROM compare('a,b,c,d\n', 'format csv, header');
SELECT * FROM compare('', 'format csv, header');
SELECT * FROM compare('', 'format csv');

-- ragged rows
SELECT * FROM compare('1,x,abc,1\n2\n3,z,abc,1\n', 'format csv');
SELECT * FROM compare('1,x,abc,1,extra\n', 'format csv');
SELECT * FROM compare('1,x,abc,1\n\n2,x,abc,1\n', 'format csv');
SELECT * FROM compare('1,x,abc,1\n2,"x,abc,1\n3,x,abc,1\n', 'format csv');

-- line ends
SELECT * FROM compare('1,x,abc,1\r\n2,y,abc,1\r\n', 'format csv');
SELECT * FROM compare('1,x,abc,1\r2,y,abc,1\r', 'format csv');
SELECT * FROM compare('1,x,abc,1\n2,y,abc,1\r\n', 'format csv');
SELECT * FROM compare('1,x,abc,1\r\n2,y,abc,1\n', 'format csv');
SELECT * FROM compare('1,x,abc,1\n2,y,abc,1', 'format csv');
-- what a line with only this means depends on the server's version
SELECT different FROM compare('1,x,abc,1\n\\.\n2,y,abc,1\n', 'format csv');

-- values
SELECT * FROM compare('88888888888,x,abc,1\n', 'format csv');
SELECT * FROM compare('1,x,abc,1\n2,x,abcd,1\n', 'format csv');
SELECT * FROM compare('1,x,abc  ,1\n', 'format csv');
SELECT * FROM compare('1,x,abc,12345\n', 'format csv');
SELECT * FROM compare('1,x,abc,1.25\n', 'format csv');
SELECT * FROM compare('2.5E+11,x,abc,1\n', 'format csv');
SELECT * FROM compare(' 1 ,x,abc, 1 \n', 'format csv');

-- bytes
SELECT * FROM compare('\357\273\2771,x,abc,1\n', 'format csv');
SELECT * FROM compare('1,x\302\240y,abc,1\n', 'format csv');
SELECT * FROM compare('1,x,abc,1\n2,\377,abc,1\n', 'format csv, encoding ''UTF8''');
SELECT * FROM compare('1,\351t\351,abc,1\n', 'format csv, encoding ''LATIN1''');
SELECT * FROM compare('1,\203\\\203A,abc,1\n', 'format csv, encoding ''SJIS''');

-- columns
SELECT * FROM compare('x,1\n', 'format csv', 'b, a');
SELECT * FROM compare('x,1,abc\n', 'format csv', 'b, a');

DROP FUNCTION compare, outcome;
DROP TABLE equal_t;
