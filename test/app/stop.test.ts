import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { expect, it, onTestFinished, vi } from 'vitest'
import { createPasswords } from '../../src/access/authentication/password.ts'
import { bootstrap } from '../../src/accounts/bootstrap.ts'
import { parseConfig } from '../../src/app/config/config.ts'
import { startServer } from '../../src/app/start.ts'
import { createTestDatabase, databaseUrl } from '../support/database/database.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { waitUntil } from '../support/wait-until.ts'

vi.setConfig({ testTimeout: 90_000 })

/** Much less than the parts may take one after the other: webhooks 2 s, clients without an end, their operations 5 s. */
const WITHIN_MS = 4000

it('stops within its time although a client, its operation, a receiver and a transaction hang', async () => {
  const [database, dataDir] = [await createTestDatabase(), await temporaryDir()]
  onTestFinished(() => database.drop())
  const config = parseConfig({
    SIGNALBOX_DATA_DIR: dataDir,
    SIGNALBOX_DATABASE_URL: databaseUrl(database.connection),
    SIGNALBOX_LOG_LEVEL: 'silent',
    ...{ SIGNALBOX_PORT: '0', SIGNALBOX_UCENTRAL_PORT: '0', SIGNALBOX_EDGE_PORT: '0' },
  })
  const running = await startServer(config)
  const { url, ctx } = running
  const account = { email: 'a@b.test', password: 'correct horse battery', orgName: 'Mine' }
  const { orgId, apiToken } = await bootstrap(ctx, createPasswords(), account)
  const call = (method: string, path: string, body: object): Promise<Response> =>
    fetch(`${url}/api/v1/orgs/${orgId}${path}`, {
      method,
      headers: { authorization: `Token ${apiToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })

  let received = 0
  const receiver = createServer(() => (received += 1)).listen(0, '127.0.0.1')
  onTestFinished(() => {
    receiver.close()
    receiver.closeAllConnections()
  })
  await waitUntil('the receiver', () => receiver.listening)
  const hook = { url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`, topics: ['audits'] }
  expect((await call('POST', '/webhooks', hook)).status).toBe(200)
  expect((await call('PUT', '/setting', { note: 'first' })).status).toBe(200)
  await waitUntil('a delivery that hangs', () => received > 0)

  const locker = new pg.Client(database.connection)
  await locker.connect()
  onTestFinished(() => locker.end())
  await locker.query('begin')
  await locker.query('select from org_setting where org_id = $1 for update', [orgId])
  const held = call('PUT', '/setting', { note: 'second' }).then(
    ({ status }) => status,
    () => 'cut off',
  )
  const waiting =
    "select count(*)::integer as count from pg_stat_activity where wait_event_type = 'Lock' and datname = $1"
  const ofThis = [database.connection.database]
  await waitUntil('its lock', async () => (await locker.query(waiting, ofThis)).rows[0].count === 1)

  const beganMs = performance.now()
  await running.stop(WITHIN_MS)
  // This is less than those parts would take one after the other, also on a busy machine.
  expect(performance.now() - beganMs).toBeLessThan(WITHIN_MS + 2000)
  expect(await held).toBe('cut off')
  // Parts that stop after those that hang have stopped as well: another server may have the folder and the database.
  const next = await startServer(config)
  await next.stop()
  await locker.query('rollback')
})
