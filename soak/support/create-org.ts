import type { Client } from '../../src/cli/client.ts'
import type { Service } from './service.ts'

export interface SoakOrg {
  readonly operator: Client
  /** Calls as the organization's first administrator. */
  readonly client: Client
  readonly orgId: string
}

/** Creates the first organization of a service. */
export async function createOrg(service: Service): Promise<SoakOrg> {
  const operator = await service.client()
  const account = { email: 'soak@example.test', password: 'not a secret', org: 'Soak' }
  const made = (await operator.call('POST', '/operator/v1/bootstrap', account)) as {
    readonly org_id: string
    readonly api_token: string
  }
  return { operator, client: await service.client(`Token ${made.api_token}`), orgId: made.org_id }
}
