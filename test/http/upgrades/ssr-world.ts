import { join } from 'node:path'
import { sweepFirmwareFiles } from '../../../src/firmware/storage/storage.ts'
import { type MadeDevice, claimNewDevices, connectDevice } from '../../support/fleets/devices.ts'
import { type Answer, type TestServer, startTestServer } from '../../support/servers/server.ts'

/** What the routers can do. */
export const routerCapabilities = {
  commands: ['restart', 'stage', 'activate'] as const,
  restart_members: [],
  restart_nodes: [],
}

export interface SsrWorld {
  readonly server: TestServer
  /** The path of the organization's upgrades of SSR routers. */
  readonly path: string
  /** Uploads an image. @param query Its version, models and tag. */
  upload(query: string): Promise<Answer>
  /** Claims routers with version 6.0.0 at a site, and connects them. */
  connectRouters(siteId: string, count: number, model?: string): Promise<readonly MadeDevice[]>
}

/** Starts a server with images for SSR routers: 6.1.0 and 6.2.0 are stable, 6.3.0 is beta. */
export async function startSsrWorld(): Promise<SsrWorld> {
  const server = await startTestServer()
  await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware') })
  const org = `/orgs/${server.org.orgId}`
  const upload = (query: string): Promise<Answer> =>
    server.call('POST', `${org}/firmware?${query}`, {
      body: query,
      headers: { 'content-type': 'application/octet-stream' },
    })
  for (const [version, tag] of [
    ['6.1.0', 'stable'],
    ['6.2.0', 'stable'],
    ['6.3.0', 'beta'],
  ])
    await upload(`version=${version}&models=SSR120&tag=${tag}`)
  return {
    server,
    path: `${org}/ssr/upgrade`,
    upload,
    async connectRouters(siteId, count, model = 'SSR120') {
      const devices = await claimNewDevices(server, count, { siteId, model })
      for (const { mac } of devices)
        await connectDevice(server.ctx, mac, {
          firmware: '6.0.0',
          model,
          type: 'gateway',
          capabilities: routerCapabilities,
        })
      return devices
    },
  }
}
