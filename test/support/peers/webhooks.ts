import { expect } from 'vitest'
import type { TestServer } from '../servers/server.ts'

/** Creates a webhook of the organization, so that events of these topics wait in the outbox. */
export async function listenTo(server: TestServer, ...topics: readonly string[]): Promise<void> {
  const body = { name: 'Listener', url: 'http://127.0.0.1:9/hook', topics }
  const { status } = await server.call('POST', `/orgs/${server.org.orgId}/webhooks`, { body })
  expect(status).toBe(200)
}
