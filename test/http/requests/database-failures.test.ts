import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
  await sql`create function fail() returns trigger language plpgsql as $$ begin
    if new.name = 'end' then perform pg_terminate_backend(pg_backend_pid()); end if;
    raise exception 'it fails' using errcode = new.name;
  end $$`.execute(server.ctx.db)
  await sql`create trigger fail before insert on site for each row execute function fail()`.execute(server.ctx.db)
})
afterAll(() => server.close())

const createSite = (name: string) => server.call('POST', `/orgs/${server.org.orgId}/sites`, { body: { name } })

it.each([
  ['53100', 'The database has no disk space left. Please try again later.'],
  ['53300', 'The database has too many connections. Please try again later.'],
  ['57P01', 'The database is being stopped or started. Please try again later.'],
  ['40P01', 'The database is too busy. Please try again later.'],
  ['end', 'The database does not answer. Please try again later.'],
])('answers 503 with a time to wait if the database fails with %s', async (name, detail) => {
  const { status, headers, body } = await createSite(name)
  expect([status, headers.get('retry-after'), body]).toEqual([503, '10', { detail }])
  expect((await server.call('GET', `/orgs/${server.org.orgId}/sites`)).body).toEqual([])
})

it('answers 500 if a statement is wrong', async () => {
  expect((await createSite('42601')).status).toBe(500)
})
