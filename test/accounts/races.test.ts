import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createPasswords } from '../../src/access/authentication/password.ts'
import { insertAdmin } from '../../src/accounts/store.ts'
import type { Tx } from '../../src/platform/database/db.ts'
import { type Browser, codeAt, createBrowser } from '../support/peers/browser.ts'
import { tokenIn, waitForMail } from '../support/peers/mails.ts'
import { type TestOrg, type TestServer, startTestServer } from '../support/servers/server.ts'
import { type TestClock, createTestClock } from '../support/test-clock.ts'
import { waitUntil } from '../support/wait-until.ts'
import { addPrivilege } from '../support/people.ts'

const MINUTE_MS = 60_000
const newPassword = 'a horse of another colour'

let clock: TestClock
let server: TestServer
let org: TestOrg
let browser: Browser
let recoveredHash: string
beforeAll(async () => {
  recoveredHash = await createPasswords().hash('chosen by the owner')
  clock = createTestClock()
  server = await startTestServer(clock)
})
afterAll(() => server.close())
beforeEach(async () => {
  clock.advance(MINUTE_MS)
  org = await server.addOrg()
  browser = createBrowser(server)
  await browser.login(org.email, org.password)
  clock.advance(1000)
})

/**
 * Starts `work` while a transaction has done `first` and not committed. Once `work` waits for the transaction, it does
 * `then` and commits.
 *
 * @returns The result of `work`.
 */
async function during<T>(
  first: (tx: Tx) => Promise<unknown>,
  work: () => Promise<T>,
  then: (tx: Tx) => Promise<unknown> = async () => {},
): Promise<T> {
  const started = await server.ctx.db.transaction().execute(async (tx) => {
    await first(tx)
    const working = work()
    await waitUntil('it waits', async () => {
      const { rows } = await sql`select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(server.ctx.db)
      return rows.length > 0
    })
    await then(tx)
    return { working }
  })
  return started.working
}

const lockOwner = (tx: Tx) => tx.selectFrom('admin').where('id', '=', org.adminId).select('id').forUpdate().execute()
const sessions = () => server.ctx.db.selectFrom('session').select('idHash').where('adminId', '=', org.adminId).execute()
const passwordHash = async () =>
  (await server.ctx.db.selectFrom('admin').select('passwordHash').where('id', '=', org.adminId).executeTakeFirst())
    ?.passwordHash

/** Simulates a recovery: it replaces the password and ends every session of the account. */
async function recover(tx: Tx): Promise<void> {
  const set = { passwordHash: recoveredHash, passwordModifiedAt: clock.now() }
  await tx.updateTable('admin').set(set).where('id', '=', org.adminId).execute()
  await tx.deleteFrom('session').where('adminId', '=', org.adminId).execute()
}

describe('a login', () => {
  it('opens no session if the account is recovered while the password is checked', async () => {
    const wrong = await createBrowser(server).login(org.email, 'wrong')
    const answer = await during(recover, () => createBrowser(server).login(org.email, org.password))
    expect([answer.status, answer.body]).toEqual([400, wrong.body])
    expect(await sessions()).toEqual([])
  })

  it('requires a second factor that is enabled while the password is checked', async () => {
    const enable = (tx: Tx) =>
      tx.updateTable('admin').set({ totpSince: clock.now() }).where('id', '=', org.adminId).execute()
    const answer = await during(enable, () => createBrowser(server).login(org.email, org.password))
    expect(answer.body).toMatchObject({ two_factor_required: true })
  })

  it('fails with the usual reply if the account is deleted meanwhile', async () => {
    const remove = (tx: Tx) => tx.deleteFrom('admin').where('id', '=', org.adminId).execute()
    const answer = await during(remove, () => createBrowser(server).login(org.email, org.password))
    expect(answer.status).toBe(400)
  })
})

describe('a caller whose proved password is recovered before the change', () => {
  it('sets no other password', async () => {
    const body = { password: newPassword, old_password: org.password }
    expect((await during(recover, () => browser.call('PUT', '/self', body))).status).toBe(403)
    expect(await passwordHash()).toBe(recoveredHash)
  })

  it('does not change the address', async () => {
    const body = { email: `other-${org.email}`, password: org.password }
    expect((await during(recover, () => browser.call('POST', '/self/update', body))).status).toBe(403)
    const tokens = server.ctx.db.selectFrom('mailedToken').select('adminId').where('adminId', '=', org.adminId)
    expect(await tokens.execute()).toEqual([])
  })

  it('does not enable a second factor', async () => {
    const { body: offer } = await browser.call('GET', '/self/two_factor/token')
    const body = { two_factor: codeAt(offer.two_factor_secret, clock.now()), password: org.password }
    expect((await during(recover, () => browser.call('POST', '/self/two_factor/verify', body))).status).toBe(403)
    const row = server.ctx.db.selectFrom('admin').select('totpSince').where('id', '=', org.adminId)
    expect((await row.executeTakeFirstOrThrow()).totpSince).toBeNull()
  })

  it('does not delete the account', async () => {
    const other = await server.addOrg()
    await addPrivilege(server, { orgId: org.orgId, adminId: other.adminId }, { scope: 'org', role: 'admin' })
    const answer = await during(recover, () => browser.call('DELETE', '/self', { password: org.password }))
    expect(answer.status).toBe(403)
    expect(await passwordHash()).toBe(recoveredHash)
  })
})

describe('a second factor', () => {
  it('is refused without a deadlock if the account is recovered while the code is checked', async () => {
    const { body: offer } = await browser.call('GET', '/self/two_factor/token')
    const code = () => codeAt(offer.two_factor_secret, clock.now())
    expect((await browser.call('POST', '/self/two_factor/verify', { two_factor: code() })).status).toBe(200)
    clock.advance(30_000)
    const half = createBrowser(server)
    await half.login(org.email, org.password)
    const answer = await during(
      lockOwner,
      () => half.call('POST', '/login/two_factor', { two_factor: code() }),
      recover,
    )
    expect(answer.status).toBe(401)
  })
})

describe('a link to recover', () => {
  it('waits for another change of the account, and fails if that change revoked it', async () => {
    expect((await server.call('POST', '/recover', { as: null, body: { email: org.email } })).status).toBe(200)
    const token = tokenIn(await waitForMail(server.dataDir, org.email))
    const answer = await during(
      lockOwner,
      () => server.call('POST', `/recover/verify/${token}`, { as: null, body: { password: newPassword } }),
      (tx) => tx.deleteFrom('mailedToken').where('adminId', '=', org.adminId).execute(),
    )
    expect(answer.status).toBe(404)
    expect(await passwordHash()).not.toBe(recoveredHash)
  })

  it('fails once its account is deleted', async () => {
    expect((await server.call('POST', '/recover', { as: null, body: { email: org.email } })).status).toBe(200)
    const token = tokenIn(await waitForMail(server.dataDir, org.email))
    const remove = (tx: Tx) => tx.deleteFrom('admin').where('id', '=', org.adminId).execute()
    const reset = () => server.call('POST', `/recover/verify/${token}`, { as: null, body: { password: newPassword } })
    expect((await during(remove, reset)).status).toBe(404)
  })
})

describe('an address', () => {
  it('is given to only one of two concurrent requests', async () => {
    const email = `new-${org.email}`
    expect((await browser.call('POST', '/self/update', { email })).status).toBe(200)
    const token = tokenIn(await waitForMail(server.dataDir, email))
    const names = { firstName: 'Celia', lastName: 'Brooke' }
    const register = (tx: Tx) =>
      insertAdmin(tx, { id: randomUUID(), email, passwordHash: 'x', ...names, createdAt: clock.now() })
    const confirm = () => server.call('POST', `/self/update/verify/${token}`, { as: null })
    expect(await during(register, confirm)).toMatchObject({
      status: 400,
      body: { detail: 'The address already has an account' },
    })
  })
})
