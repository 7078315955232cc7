import { join } from 'node:path'
import { type Service, createService } from '../../../soak/support/service.ts'
import type { Client } from '../../../src/cli/client.ts'
import type { AnyJson } from '../contract/any-json.ts'
import { copyPreparedData } from '../database/prepared-data.ts'
import { type AtEnd, temporaryDir } from '../temporary-dir.ts'

/** The built server as a user runs it, with an organization of one site. Tests kill its process. */
export interface KillableService {
  readonly service: Service
  readonly operator: Client
  readonly client: Client
  readonly get: (path: string) => Promise<AnyJson>
  readonly post: (path: string, body: object) => Promise<AnyJson>
  /** The path of the organization. */
  readonly org: string
  readonly siteId: string
}

/** Starts the service until `atEnd`. */
export async function startKillableService(atEnd: AtEnd): Promise<KillableService> {
  const folder = await temporaryDir(atEnd)
  await copyPreparedData(join(folder, 'data'))
  const service = await createService(folder, { SIGNALBOX_ROLLOUT_SOAK_S: '0' })
  atEnd(() => service.close())
  service.start()
  if (!(await service.ready())) throw new Error('the server did not start')
  const operator = await service.client()
  const account = { email: 'a@example.test', password: 'correct horse battery', org: 'Test' }
  const made = (await operator.call('POST', '/operator/v1/bootstrap', account)) as AnyJson
  const client = await service.client(`Token ${made.api_token}`)
  const org = `/api/v1/orgs/${made.org_id}`
  const site = (await client.call('POST', `${org}/sites`, { name: 'Here' })) as AnyJson
  return {
    service,
    operator,
    client,
    get: async (path) => (await client.call('GET', path)) as AnyJson,
    post: async (path, body) => (await client.call('POST', path, body)) as AnyJson,
    org,
    siteId: site.id,
  }
}
