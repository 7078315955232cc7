import { once } from 'node:events'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { claimDevices, enroll } from '../devices.ts'
import { residentKb, residentKbWithChildren } from '../process-usage.ts'
import type { Signalbox } from '../signalbox.ts'
import { type OpenedDevice, openDevice } from './device.ts'
import type { Observed } from './figures.ts'
import { ANSWERED_DOMAIN } from './name-server.ts'
import { type Session, signIn } from './sign-in.ts'

const CALLS_PER_S = 50
/** Every tenth call changes something, and every tenth comes by a new connection. */
const CYCLE = 10
const JOIN_EVERY_MS = 2000
const DEVICES = 10
const MEMORY_EVERY_MS = 250
const ANSWERED_WITHIN_MS = 60_000
const MODEL = 'EX4100-48P'

export interface Tenant {
  readonly email: string
  /** Works at a fixed rate, whatever the service does, and waits for the work that it has begun. */
  observe(seconds: number): Promise<Observed>
  close(): void
}

interface Ground {
  readonly signalbox: Signalbox
  readonly session: Session
  readonly siteId: string
  /** The time at which each change began, by its number, until its event has arrived. */
  readonly changes: Map<number, number>
}

/** Prepares the well-behaved tenant: a site, a session, a webhook whose receiver has a name, and devices. */
export async function createTenant(signalbox: Signalbox, email: string, password: string): Promise<Tenant> {
  const { orgId, call, url, ucentralPort } = signalbox
  const { id: siteId } = (await call('POST', `/api/v1/orgs/${orgId}/sites`, { name: 'Site' })) as { id: string }
  const changes = new Map<number, number>()
  let deliveries: number[] = []
  const receiver = await startReceiver((change) => {
    const beganMs = changes.get(change)
    if (changes.delete(change) && beganMs !== undefined) deliveries.push(performance.now() - beganMs)
  })
  const { port } = receiver.address() as AddressInfo
  const hook = { url: `http://tenant.${ANSWERED_DOMAIN}:${port}/`, topics: ['audits'], single_event_per_message: true }
  await call('POST', `/api/v1/orgs/${orgId}/webhooks`, hook)
  const { ca, devices } = await enroll(signalbox, await claimDevices(signalbox, DEVICES, 'switch'))
  const ground: Ground = { signalbox, session: await signIn(url, email, password), siteId, changes }
  const open = (index: number): OpenedDevice => {
    const device = devices[index % devices.length]
    if (device === undefined) throw new Error('unreachable: the tenant has devices')
    return openDevice({ port: ucentralPort, ca, device, model: MODEL })
  }
  const steady = open(0)
  await steady.joined
  let errors: string[] = []
  let isOver = false
  void steady.closed.then((code) => !isOver && errors.push(`the device of the tenant was disconnected (${code})`))
  return {
    email,
    async observe(seconds) {
      const over = new AbortController()
      const joins = joinRepeatedly((round) => open(1 + (round % (devices.length - 1))), over.signal)
      const memory = watchMemory(signalbox.pid, over.signal)
      const calls = await work(ground, seconds, errors)
      await untilDelivered(changes, errors)
      over.abort()
      const observed = { calls, deliveries, joins: await joins, errors, ...(await memory) }
      deliveries = []
      errors = []
      return observed
    },
    close() {
      isOver = true
      steady.close()
      receiver.close()
      receiver.closeAllConnections()
    },
  }
}

/** Calls `onChange` with the number of each change whose event arrives. */
async function startReceiver(onChange: (change: number) => void): Promise<Server> {
  const server = createServer(async (request, response) => {
    const text = (await request.toArray()).join('')
    response.end()
    // The message of the record has the new name, while its other fields show the former one as well.
    for (const [, number] of text.matchAll(/"message": ?"[^"]*\\"Change (\d+)/g)) onChange(Number(number))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return server
}

let changed = 0

/** @returns The duration of each call. */
async function work(ground: Ground, seconds: number, errors: string[]): Promise<number[]> {
  const durations: number[] = []
  const calls: Promise<void>[] = []
  const startMs = performance.now()
  for (let sent = 0; sent < seconds * CALLS_PER_S; sent += 1) {
    const dueMs = startMs + (1000 * sent) / CALLS_PER_S
    if (dueMs > performance.now()) await delay(dueMs - performance.now())
    const done = callOnce(ground, sent).then(
      () => void durations.push(performance.now() - dueMs),
      (error: unknown) => void errors.push(`the tenant: ${explain(error)}`),
    )
    calls.push(done)
  }
  await Promise.all(calls)
  return durations
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message
}

async function callOnce({ signalbox: { url, orgId }, session, siteId, changes }: Ground, sent: number): Promise<void> {
  const reads = ['/self', `/orgs/${orgId}/sites`, `/orgs/${orgId}/stats/devices?type=switch`]
  const isChange = sent % CYCLE === 0
  const path = isChange ? `/sites/${siteId}` : (reads[sent % reads.length] ?? '')
  const headers = { ...session, ...(sent % CYCLE === 1 && { connection: 'close' }) }
  const number = isChange ? (changed += 1) : 0
  if (isChange) changes.set(number, performance.now())
  const answer = await fetch(`${url}/api/v1${path}`, {
    headers: isChange ? { ...headers, 'content-type': 'application/json' } : headers,
    ...(isChange && { method: 'PUT', body: JSON.stringify({ name: `Change ${number}` }) }),
    signal: AbortSignal.timeout(ANSWERED_WITHIN_MS),
  })
  const text = await answer.text()
  if (answer.ok) return
  changes.delete(number)
  throw new Error(`${answer.status} for ${path.replaceAll(/[0-9a-f-]{36}/g, ':id')}: ${text.slice(0, 200)}`)
}

async function untilDelivered(changes: Map<number, number>, errors: string[]): Promise<void> {
  const endMs = performance.now() + ANSWERED_WITHIN_MS
  while (changes.size > 0 && performance.now() < endMs) await delay(20)
  if (changes.size > 0) errors.push(`${changes.size} events of the tenant did not arrive`)
  changes.clear()
}

/** @returns The duration for each device; a refused one retries immediately, as part of the same time. */
async function joinRepeatedly(open: (round: number) => OpenedDevice, signal: AbortSignal): Promise<number[]> {
  const durations: number[] = []
  for (let round = 0; !signal.aborted; round += 1) {
    const beganMs = performance.now()
    let hasJoined = false
    while (!hasJoined && !signal.aborted) {
      const device = open(round)
      const aborted = new Promise<false>((resolve) =>
        signal.addEventListener('abort', () => resolve(false), { once: true }),
      )
      hasJoined = await Promise.race([device.joined.then(() => true), device.closed.then(() => false), aborted])
      device.close()
    }
    if (hasJoined) durations.push(performance.now() - beganMs)
    await delay(JOIN_EVERY_MS, undefined, { signal }).catch(() => undefined)
  }
  return durations
}

async function watchMemory(pid: number, signal: AbortSignal): Promise<Pick<Observed, 'maxKb' | 'maxWithChildrenKb'>> {
  let [maxKb, maxWithChildrenKb] = [0, 0]
  do {
    maxKb = Math.max(maxKb, await residentKb(pid))
    maxWithChildrenKb = Math.max(maxWithChildrenKb, await residentKbWithChildren(pid))
    await delay(MEMORY_EVERY_MS, undefined, { signal }).catch(() => undefined)
  } while (!signal.aborted)
  return { maxKb, maxWithChildrenKb }
}
