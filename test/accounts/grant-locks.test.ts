import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { untilWaiting } from '../support/database/until-waiting.ts'
import { addPerson } from '../support/people.ts'
import { tokenIn, waitForMail } from '../support/peers/mails.ts'
import { whileRowsAreLocked } from '../support/while-locked.ts'
import { type Answer, type TestOrg, type TestServer, startTestServer } from '../support/servers/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

const privileges = [{ scope: 'org', role: 'read' }]

/** Holders of privileges in an organization, each of which has them in a site, too. */
interface World {
  readonly org: TestOrg
  readonly siteId: string
  /** An admin who created a token. */
  readonly creator: TestOrg
  readonly guest: TestOrg
  readonly ids: Readonly<Record<'apitokens' | 'ssoroles' | 'ssos' | 'invites', string>>
  readonly call: (method: string, place: string, body?: unknown, as?: TestOrg) => Promise<Answer>
}

async function makeWorld(): Promise<World> {
  const [org, guest] = [await server.addOrg(), await server.addOrg()]
  const call = (method: string, place: string, body?: unknown, as: TestOrg = org) =>
    server.call(method, `/orgs/${org.orgId}/${place}`, { as, body })
  const creator = await addPerson({ ...server, org }, [{ scope: 'org', role: 'admin' }])
  const { body: site } = await call('POST', 'sites', { name: 'Short' })
  const both = [...privileges, { scope: 'site', role: 'write', site_id: site.id }]
  const add = async (list: string, body: object, as?: TestOrg): Promise<string> =>
    (await call('POST', list, { name: 'x', ...body }, as)).body.id
  const ids = {
    apitokens: await add('apitokens', { privileges: both }, creator),
    ssoroles: await add('ssoroles', { privileges: both }),
    ssos: await add('ssos', {}),
    invites: (await call('POST', 'invites', { email: guest.email, privileges: both })).body.id as string,
  }
  return { org, siteId: site.id, creator, guest, ids, call }
}

const changes: readonly (readonly [what: string, change: (world: World) => Promise<Answer>])[] = [
  ['a change of a token', (world) => world.call('PUT', `apitokens/${world.ids.apitokens}`, { privileges })],
  ['a change of a role', (world) => world.call('PUT', `ssoroles/${world.ids.ssoroles}`, { privileges })],
  ['a change of an SSO', (world) => world.call('PUT', `ssos/${world.ids.ssos}`, { name: 'y' })],
  ['the deletion of an SSO', (world) => world.call('DELETE', `ssos/${world.ids.ssos}`)],
  ['a change of an invitation', (world) => world.call('PUT', `invites/${world.ids.invites}`, { privileges })],
  ['a repeated invitation', (world) => world.call('POST', 'invites', { email: world.guest.email, privileges })],
  [
    'an invitation that is accepted',
    async ({ guest }) => {
      const token = tokenIn(await waitForMail(server.dataDir, guest.email))
      return server.call('POST', `/invite/verify/${token}`, { as: guest })
    },
  ],
  ['the removal of an admin with tokens', (world) => world.call('DELETE', `admins/${world.creator.adminId}`)],
]

/** Starts both calls, one behind the other, while the organization is locked. */
async function behindEachOther(
  { org }: World,
  calls: readonly (() => Promise<Answer>)[],
): Promise<readonly Promise<Answer>[]> {
  return server.ctx.db.transaction().execute(async (tx) => {
    await tx.selectFrom('org').select('id').where('id', '=', org.orgId).forUpdate().execute()
    const answers: Promise<Answer>[] = []
    for (const call of calls) {
      answers.push(call())
      await untilWaiting(server, answers.length)
    }
    return answers
  })
}

describe.each(changes)('%s and the deletion of a site that it names', (_what, change) => {
  it.each([['before'], ['after']])('wait for each other without a deadlock: %s it', async (when) => {
    const world = await makeWorld()
    const calls = [() => change(world), () => server.call('DELETE', `/sites/${world.siteId}`, { as: world.org })]
    const answers = await behindEachOther(world, when === 'before' ? calls : calls.toReversed())
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200])
  })
})

describe('a registration with an invitation', () => {
  const name = { first_name: 'Ada', last_name: 'Lovelace', org_name: 'Engines' }
  const person = { ...name, password: 'a horse of another colour', account_only: true }

  it.each([
    ['repeated', (world: World, email: string) => world.call('POST', 'invites', { email, privileges })],
    ['changed', (world: World, _email: string, id: string) => world.call('PUT', `invites/${id}`, { privileges })],
  ])('and the same invitation, %s, wait for each other without a deadlock', async (_what, change) => {
    const world = await makeWorld()
    const email = `${randomUUID()}@example.test`
    const { body: invite } = await world.call('POST', 'invites', { email, privileges })
    const referer_invite_token = tokenIn(await waitForMail(server.dataDir, email))
    await server.call('POST', '/register', { as: null, body: { ...person, email, referer_invite_token } })
    const token = tokenIn(await waitForMail(server.dataDir, email, 2))
    const answers = await server.ctx.db.transaction().execute(async (tx) => {
      await tx.selectFrom('invite').select('id').where('id', '=', invite.id).forUpdate().execute()
      const changing = change(world, email, invite.id)
      await untilWaiting(server, 1)
      const verifying = server.call('POST', `/register/verify/${token}`, { as: null })
      await untilWaiting(server, 2)
      return [changing, verifying]
    })
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200])
  })

  it('whose password is unfit does not wait for its organization', async () => {
    const world = await makeWorld()
    await world.call('PUT', 'setting', { password_policy: { enabled: true, min_length: 40 } })
    const email = `${randomUUID()}@example.test`
    await world.call('POST', 'invites', { email, privileges })
    const referer_invite_token = tokenIn(await waitForMail(server.dataDir, email))
    await server.call('POST', '/register', { as: null, body: { ...person, email, referer_invite_token } })
    const token = tokenIn(await waitForMail(server.dataDir, email, 2))
    await whileRowsAreLocked(server.ctx, { table: 'org', column: 'id', value: world.org.orgId }, async () => {
      const answer = await server.call('POST', `/register/verify/${token}`, { as: null })
      expect(answer).toMatchObject({ status: 200, body: { invite_not_applied: true, min_length: 40 } })
    })
  })
})
