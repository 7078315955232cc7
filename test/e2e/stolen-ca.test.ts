// The key of the built-in CA was stolen: the operator follows docs/certificates.md, "Replacing the built-in CA".
import { spawn } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { dryRunAppliance } from '../../src/agent/dry-run.ts'
import { createEdgeRole } from '../../src/agent/edge-role.ts'
import { dryRunRouter } from '../../src/agent/router/router-dry-run.ts'
import { createRouterRole } from '../../src/agent/router/router-role.ts'
import { type AgentOptions, runAgent } from '../../src/agent/run-agent.ts'
import { parseConfig } from '../../src/app/config/config.ts'
import { type Running, startServer } from '../../src/app/start.ts'
import { createClient } from '../../src/cli/client.ts'
import { deviceIdOf } from '../../src/devices/device.ts'
import { type KeyPairPem, issueDeviceCertificate, loadDeviceCa } from '../../src/gateway/certificates/device-ca.ts'
import { openDevice } from '../gateway/harness.ts'
import type { AnyJson } from '../support/contract/any-json.ts'
import { claimDevices, startService } from '../support/servers/service.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { waitUntil } from '../support/wait-until.ts'

const ap = { mac: '02000000ca01', serial: 'S1', model: 'EAP101', type: 'ap', firmware: '1.0.0' } as const
const ROUTER_MAC = '02000000ca02'
const agentProgram = fileURLToPath(new URL('../../src/bin/agent.ts', import.meta.url))

const agents: Record<'edge' | 'router', AgentOptions['roleOf']> = {
  edge: async (parts) => createEdgeRole(parts, dryRunAppliance(parts.state)),
  router: async (parts) =>
    createRouterRole(parts, await dryRunRouter(parts.state, {}), { mac: ROUTER_MAC, model: 'SSR120', serial: 'R1' }),
}

/** Runs an agent in this process. @returns A function that stops it. */
function startAgent(
  kind: keyof typeof agents,
  options: Pick<AgentOptions, 'folder' | 'registration' | 'registersAgain' | 'ca'>,
): () => Promise<unknown> {
  const stopping = new AbortController()
  const common = { roleOf: agents[kind], version: '0.1.0', log: () => {}, signal: stopping.signal }
  const ended = runAgent({ ...common, ...options })
  const stop = (): Promise<unknown> => {
    stopping.abort()
    return ended.catch(() => null)
  }
  onTestFinished(() => void stop())
  return stop
}

/** Returns whether a WebSocket opens with the certificate, whomever the client trusts. */
async function isAccepted(port: number, { certificatePem: cert, keyPem: key }: KeyPairPem): Promise<boolean> {
  const socket = new WebSocket(`wss://127.0.0.1:${port}/`, 'ucentral-broker', { cert, key, rejectUnauthorized: false })
  onTestFinished(() => socket.terminate())
  return new Promise((resolve) => {
    socket.once('open', () => resolve(true))
    socket.once('error', () => resolve(false))
  })
}

it(
  'locks out all certificates of a stolen CA, and takes back devices and agents with new ones',
  { timeout: 180_000 },
  async () => {
    const service = await startService({ SIGNALBOX_TLS: 'self-signed' })
    const { dataDir, settings } = service
    const { client, org } = await claimDevices(service, [ap])
    const token = (
      (await client.call('POST', `${org}/apitokens`, {
        name: 'Test',
        privileges: [{ scope: 'org', role: 'admin' }],
      })) as AnyJson
    ).key
    const caFile = join(dataDir, 'device-ca/ca.pem')

    /** The calls to the present server: each has its own address, and the later one another CA. */
    const callsOf = ({ url, operatorKey }: Running) => {
      const tenant = createClient({ url, authorization: `Token ${token}`, dataDir })
      const operator = createClient({ url, authorization: `Operator ${operatorKey}`, dataDir })
      const read = async (path: string): Promise<AnyJson> => (await tenant.call('GET', path)) as AnyJson
      return {
        read,
        code: async (): Promise<string> => (await read(`${org}/ssr/register_cmd`)).registration_code,
        issue: async (): Promise<AnyJson> =>
          (await operator.call('POST', '/operator/v1/device-certificates', { mac: ap.mac })) as AnyJson,
        /** A session of a stopped server may count as connected for a while, unlike one with a report since then. */
        untilAllConnected: (since: number) =>
          waitUntil(
            'the access point, the appliance and the router are connected',
            async () => {
              const devices: AnyJson[] = await read(`${org}/stats/devices?type=all`)
              const all = [...devices, await read(`${org}/stats/mxedges/${edge.id}`)]
              return all.length === 3 && all.every((one) => one.status === 'connected' && one.last_seen > since)
            },
            60_000,
          ),
      }
    }
    const edge = (await client.call('POST', `${org}/mxedges`, { name: 'Edge', model: 'ME-VM' })) as AnyJson
    const [edgeFolder, routerFolder] = [await temporaryDir(), await temporaryDir()]
    const first = callsOf(service.server)
    const before = await first.issue()
    const formerPair = { certificatePem: before.certificate, keyPem: before.key }
    const stolen = await loadDeviceCa(dataDir)
    const { url } = service.server
    const stopEdge = startAgent('edge', { folder: edgeFolder, registration: { url, code: edge.magic }, ca: before.ca })
    const stopRouter = startAgent('router', {
      folder: routerFolder,
      registration: { url, code: await first.code() },
      ca: before.ca,
    })
    const device = await openDevice(service.server.ucentralPort, stolen, {
      mac: ap.mac,
      trust: before.ca,
      identity: formerPair,
    })
    device.hello()
    await first.untilAllConnected(0)
    await Promise.all([stopEdge(), stopRouter()])

    await service.server.stop()
    await rm(join(dataDir, 'device-ca'), { recursive: true })
    const restartedAt = Date.now() / 1000
    const server = await startServer(parseConfig(settings))
    onTestFinished(() => server.stop())
    const second = callsOf(server)
    const after = await second.issue()
    const nextPair = { certificatePem: after.certificate, keyPem: after.key }

    // Neither what the CA has signed nor what the thief signs with its key admits anybody, at either listener.
    const registration = JSON.parse(await readFile(join(edgeFolder, 'registration.json'), 'utf8'))
    const agentPair = {
      certificatePem: registration.certificate,
      keyPem: await readFile(join(edgeFolder, 'key.pem'), 'utf8'),
    }
    const forged = await issueDeviceCertificate(stolen, ap.mac)
    for (const port of [server.ucentralPort, server.edgePort])
      for (const pair of [formerPair, forged, agentPair]) expect(await isAccepted(port, pair)).toBe(false)
    expect(await isAccepted(server.ucentralPort, nextPair)).toBe(true)
    // Nor does a device with the former CA connect to it.
    const misled = openDevice(server.ucentralPort, stolen, { mac: ap.mac, trust: before.ca, identity: nextPair })
    await expect(misled).rejects.toThrow(/certificate/)

    const again = await openDevice(server.ucentralPort, stolen, { mac: ap.mac, trust: after.ca, identity: nextPair })
    again.hello()
    const args = [
      '--state',
      edgeFolder,
      '--dry-run',
      '--url',
      server.url,
      '--code',
      edge.magic,
      '--ca',
      caFile,
      '--register-again',
    ]
    const child = spawn(process.execPath, [agentProgram, ...args], { stdio: ['ignore', 'ignore', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const ca = await readFile(caFile, 'utf8')
    startAgent('router', {
      folder: routerFolder,
      registration: { url: server.url, code: await second.code() },
      ca,
      registersAgain: true,
    })
    await second.untilAllConnected(restartedAt)
    // They are the same appliance and the same router, with the keys that they had.
    expect(await readFile(join(edgeFolder, 'key.pem'), 'utf8')).toBe(agentPair.keyPem)
    const { mxedge_id, certificate } = JSON.parse(await readFile(join(edgeFolder, 'registration.json'), 'utf8'))
    expect([mxedge_id, certificate === registration.certificate]).toEqual([edge.id, false])
    expect((await second.read(`${org}/mxedges/${edge.id}`)).mxagent_registered).toBe(true)
    expect((await second.read(`${org}/inventory?mac=${ROUTER_MAC}`))[0].id).toBe(deviceIdOf(ROUTER_MAC))
  },
)
