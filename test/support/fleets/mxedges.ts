import { randomBytes } from 'node:crypto'
import { deviceIdOf } from '../../../src/devices/device.ts'
import type { ManifestRow } from '../../../src/devices/registry/plan-import.ts'
import { importMxedgeManifest } from '../../../src/mxedges/registry/import-manifest.ts'
import type { Context } from '../../../src/platform/context.ts'
import type { AnyJson } from '../contract/any-json.ts'
import type { TestServer } from '../servers/server.ts'

export interface MadeMxedge extends ManifestRow<'mxedge'> {
  readonly id: string
}

/** Adds new hardware, which the service knows from its manifest and no organization has claimed. */
export async function makeMxedge(ctx: Context, traits: Partial<ManifestRow<'mxedge'>> = {}): Promise<MadeMxedge> {
  const mac = randomBytes(6).toString('hex')
  const row = { mac, serial: `S${mac}`, model: 'ME-X5', claim_code: `EDG${mac.toUpperCase()}`, ...traits }
  const { conflicts } = await importMxedgeManifest(ctx, [row])
  if (conflicts.length > 0) throw new Error(JSON.stringify(conflicts))
  return { ...row, id: deviceIdOf(mac) }
}

/** Creates a virtual appliance of the server's organization. */
export async function addMxedge(server: TestServer, body: object = {}, as = server.org): Promise<AnyJson> {
  const made = await server.call('POST', `/orgs/${as.orgId}/mxedges`, {
    as,
    body: { name: 'Edge', model: 'ME-VM', ...body },
  })
  if (made.status !== 200) throw new Error(JSON.stringify(made.body))
  return made.body
}

export async function addCluster(server: TestServer, body: object = {}, as = server.org): Promise<AnyJson> {
  const made = await server.call('POST', `/orgs/${as.orgId}/mxclusters`, { as, body: { name: 'Cluster', ...body } })
  if (made.status !== 200) throw new Error(JSON.stringify(made.body))
  return made.body
}

/** Returns the newest audit record and the newest event of an edge appliance, in the server's organization. */
export async function lastRecords({ ctx: { db }, org }: TestServer): Promise<{ audit: AnyJson; event: AnyJson }> {
  const audits = db.selectFrom('auditLog').selectAll().where('orgId', '=', org.orgId).orderBy('id', 'desc')
  const events = db.selectFrom('mxedgeEvent').selectAll().where('orgId', '=', org.orgId).orderBy('id', 'desc')
  return { audit: await audits.executeTakeFirst(), event: (await events.executeTakeFirst())?.event }
}
