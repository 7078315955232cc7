import { randomBytes } from 'node:crypto'
import { uuidv7 } from 'uuidv7'
import { systemScope } from '../../../src/access/scope.ts'
import type { MxedgeOrder } from '../../../src/mxedges/commands/command.ts'
import { insertCommand } from '../../../src/mxedges/commands/store.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import type { AnyJson } from '../../support/contract/any-json.ts'
import type { TestOrg, TestServer } from '../../support/servers/server.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** Uploads random bytes as a package; returns the image. */
export async function uploadPackage(
  server: TestServer,
  version: string,
  {
    query = 'package=tunterm',
    bytes = randomBytes(1000),
    org = server.org,
  }: { readonly query?: string; readonly bytes?: Buffer; readonly org?: TestOrg } = {},
): Promise<AnyJson> {
  const answer = await fetch(`${server.url}/api/v1/orgs/${org.orgId}/firmware?version=${version}&${query}`, {
    method: 'POST',
    headers: { authorization: `Token ${org.token}` },
    body: new Uint8Array(bytes),
  })
  const body: AnyJson = await answer.json()
  if (answer.status !== 200) throw new Error(JSON.stringify(body))
  return body
}

/** Queues a command as an upgrade of edge appliances does. */
export async function order({ ctx, org }: TestServer, mxedgeId: string, what: MxedgeOrder): Promise<void> {
  const createdAt = ctx.clock.now()
  const row = { ...what, id: uuidv7(), mxedgeId, createdAt, expiresAt: new Date(createdAt.getTime() + 60_000) }
  await inTx(ctx, (tx) => insertCommand(tx, systemScope('rollout', org.orgId), row))
}

export function upgradeOf(image: AnyJson, version = image.packages[0].version, service = 'tunterm'): MxedgeOrder {
  return { kind: 'upgrade_service', params: { service, version, image_id: image.id, from_version: '1.0.0' } }
}

/** Waits for the newest upgrade of an appliance. */
export function untilEnded(world: TestServer, id: string, status: string): Promise<AnyJson> {
  return waitUntil(`a command that is ${status}`, async () => {
    const { body } = await world.call('GET', `/orgs/${world.org.orgId}/mxedges/${id}/commands`)
    const newest = body.find(({ kind }: { readonly kind: string }) => kind.startsWith('upgrade'))
    return newest?.status === status ? newest : null
  })
}

export async function lastEvent(world: TestServer, id: string): Promise<AnyJson> {
  const path = `/orgs/${world.org.orgId}/mxedges/events/search?mxedge_id=${id}&limit=1`
  return (await world.call('GET', path)).body.results[0]
}
