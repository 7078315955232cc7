import { fileURLToPath } from 'node:url'
import { loadavg } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { type Figures, type OptionValues, parseCount } from '../scripts/run-measurement.ts'
import { buildConsole, launchChromium, noChromium, openView, signIn } from '../test/support/peers/chromium.ts'
import { MODEL, NEW } from '../test/support/fleets/fleet.ts'
import { startChild } from './support/child.ts'
import type { Ask, Memory, Renamed, Seeded, Upgraded } from './support/console/driven-server.ts'
import { type Frames, measureFrames, prepareToMeasure } from './support/console/page-frames.ts'
import { cpuSeconds } from './support/process-usage.ts'
import { type Signalbox, benchAdmin, startSignalbox } from './support/signalbox.ts'
import type { ClientsReport, ClientsWork } from './support/console/stream-clients.ts'

export const options = {
  devices: { type: 'string' },
  clients: { type: 'string' },
  seconds: { type: 'string' },
  part: { type: 'string' },
} as const

const DEVICES = 10_000
const SITES = 100
const CLIENTS = 1000
const SECONDS = 10
const CHANGES_PER_S = 1000
/** The engine writes each target two to three times. */
const UPGRADES_PER_S = 200
const LOADS = 5
const SCROLL_PX_PER_S = 3000
const SCROLL_MS = 6000
/** An account has at most 200 connections. */
const CLIENTS_OF_ACCOUNT = 150

const limits = {
  script_kb: 200,
  list_interactive_ms: 1000,
  list_frames_per_s: 55,
  live_longest_frame_ms: 50,
  stream_p99_ms: 250,
  stream_kb_per_client: 50,
} as const

const serverProgram = fileURLToPath(new URL('support/console/driven-server.ts', import.meta.url))
const clientsProgram = fileURLToPath(new URL('support/console/stream-clients.ts', import.meta.url))

/**
 * Measures the console in a headless Chromium and the live stream with many clients, for an organization with many
 * devices. `--part` selects one part. The process of the server changes the rows itself; pages and clients receive the
 * changes through real connections.
 */
export async function run(values: OptionValues): Promise<Figures> {
  const devices = parseCount(values, 'devices', DEVICES)
  const clients = parseCount(values, 'clients', CLIENTS)
  const seconds = parseCount(values, 'seconds', SECONDS)
  if (noChromium !== null) throw new Error(noChromium)
  if (devices % SITES !== 0) throw new Error(`--devices is ${devices}, but must be a multiple of ${SITES}`)
  await buildConsole()
  const has = (part: string): boolean => values['part'] === undefined || values['part'] === part
  // A device counts as upgraded as soon as it is connected again.
  const signalbox = await startSignalbox({ program: serverProgram, env: { SIGNALBOX_ROLLOUT_SOAK_S: '0' } })
  const browser = await launchChromium()
  try {
    const { siteIds } = await ask<Seeded>(signalbox, { kind: 'seed', orgId: signalbox.orgId, sites: SITES, devices })
    const first = has('first') && (await measureFirstPage(browser, signalbox))
    const page = await openConsole(browser, signalbox)
    await prepareToMeasure(page)
    const list = has('list') && (await measureList(page, signalbox, devices))
    const live = has('live') && (await measureLive(page, signalbox, { siteIds, seconds }))
    await page.context().close()
    const stream = has('stream') && (await measureStream(signalbox, { siteIds, clients, seconds }))
    return {
      devices,
      sites: SITES,
      load: loadavg().map((load) => Math.round(load * 10) / 10),
      limits,
      first,
      list,
      live,
      stream,
    }
  } finally {
    await browser.close()
    await signalbox.stop()
  }
}

async function ask<Reply>(signalbox: Signalbox, message: Ask): Promise<Reply> {
  return (await signalbox.ask(message)) as Reply
}

/** Loads the sign-in page and then the overview without a cache, and counts the transferred bytes of scripts. */
async function measureFirstPage(browser: Browser, { url }: Signalbox): Promise<Figures> {
  const view = await openView(browser, url)
  try {
    const page = await view.newPage()
    const protocol = await view.newCDPSession(page)
    const scripts = new Set<string>()
    let bytes = 0
    protocol.on('Network.responseReceived', ({ requestId, type }) => void (type === 'Script' && scripts.add(requestId)))
    protocol.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      if (scripts.has(requestId)) bytes += encodedDataLength
    })
    await protocol.send('Network.enable')
    await page.goto('/sign-in')
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
    const signInBytes = bytes
    await signIn(page, benchAdmin)
    await page.waitForURL('**/orgs/*')
    await page.getByRole('heading', { level: 1 }).waitFor()
    return { script_kb: kilo(signInBytes), script_kb_with_overview: kilo(bytes) }
  } finally {
    await view.close()
  }
}

async function openConsole(browser: Browser, { url }: Signalbox): Promise<Page> {
  const view = await openView(browser, url)
  view.setDefaultTimeout(60_000)
  const page = await view.newPage()
  await signIn(page, benchAdmin)
  await page.waitForURL('**/orgs/*')
  return page
}

/** Measures from the start of the navigation until rows are painted and the page runs its next task. */
async function measureList(page: Page, { orgId }: Signalbox, devices: number): Promise<Figures> {
  const times: number[] = []
  for (let load = 0; load < LOADS; load += 1) {
    await page.goto(`/orgs/${orgId}/devices`)
    await page
      .getByText(`${devices.toLocaleString('en')} devices`)
      .or(page.getByText(`${devices} devices`))
      .waitFor()
    times.push(Number(await page.evaluate("performance.getEntriesByName('rows')[0]?.startTime")))
  }
  const inOrder = times.toSorted((one, other) => one - other)
  const frames = await measureFrames(page, () =>
    page.evaluate(`bench.scroll('.device-scroller', ${SCROLL_PX_PER_S}, ${SCROLL_MS})`),
  )
  return {
    interactive_ms: Math.round(inOrder[Math.floor(LOADS / 2)] ?? Number.NaN),
    interactive_worst_ms: Math.round(inOrder.at(-1) ?? Number.NaN),
    scrolling: { px_per_s: SCROLL_PX_PER_S, ...frames },
  }
}

interface Place {
  readonly siteIds: readonly string[]
  readonly seconds: number
}

/** Watches an upgrade of all devices while their targets change. */
async function measureLive(page: Page, signalbox: Signalbox, { siteIds, seconds }: Place): Promise<Figures> {
  const { orgId } = signalbox
  const body = {
    site_ids: siteIds,
    models: [MODEL],
    version: NEW,
    strategy: 'big_bang',
    max_in_flight: 3 * UPGRADES_PER_S,
  }
  const made = (await signalbox.call('POST', `/api/v1/orgs/${orgId}/devices/upgrade`, body)) as { readonly id: string }
  const shown = await measureUpgradePage(page, `/orgs/${orgId}/upgrades/${made.id}`)
  await delay(2000)
  let upgraded: Upgraded | null = null
  const frames: Frames = await measureFrames(page, async () => {
    upgraded = await ask<Upgraded>(signalbox, { kind: 'upgrade', devicesPerS: UPGRADES_PER_S, seconds })
  })
  const { devices, changes, seconds: tookS } = upgraded ?? { devices: 0, changes: 0, seconds: Number.NaN }
  await signalbox.call('POST', `/api/v1/orgs/${orgId}/devices/upgrade/${made.id}/cancel`)
  return { ...shown, upgraded: devices, target_changes_per_s: Math.round(changes / tookS), ...frames }
}

/** Measures from the start of the navigation until the phases, and the devices, are on the page: medians. */
async function measureUpgradePage(page: Page, address: string): Promise<Figures> {
  const [phasesMs, devicesMs]: [number[], number[]] = [[], []]
  for (let load = 0; load < LOADS; load += 1) {
    const beganMs = performance.now()
    await page.goto(address, { waitUntil: 'commit' })
    await page.getByRole('heading', { name: 'Phases' }).waitFor()
    phasesMs.push(performance.now() - beganMs)
    await page.getByRole('region', { name: 'Device rows' }).waitFor()
    devicesMs.push(performance.now() - beganMs)
  }
  const median = (times: readonly number[]): number =>
    Math.round(times.toSorted((one, other) => one - other)[Math.floor(LOADS / 2)] ?? Number.NaN)
  return { phases_ms: median(phasesMs), devices_ms: median(devicesMs) }
}

/** Renames devices while each client listens to one site, so each change is sent to each client of its site. */
async function measureStream(
  signalbox: Signalbox,
  { siteIds, clients, seconds }: Place & { readonly clients: number },
): Promise<Figures> {
  const { url, orgId, pid } = signalbox
  const authorizations: string[] = []
  for (let count = 0; count < clients / CLIENTS_OF_ACCOUNT; count += 1) {
    const body = { name: `clients ${count}`, privileges: [{ scope: 'org', role: 'read' }] }
    const { key } = (await signalbox.call('POST', `/api/v1/orgs/${orgId}/apitokens`, body)) as { readonly key: string }
    authorizations.push(`Token ${key}`)
  }
  const channels = siteIds.map((siteId) => `/sites/${siteId}/devices`)
  const start = (count: number) => {
    const work: ClientsWork = { url, authorizations, channels, clients: count }
    return startChild({ args: [clientsProgram, JSON.stringify(work)], ready: /^clients ready$/ })
  }
  // The server keeps memory that the first connections and changes allocate.
  const warm = await start(Math.ceil(clients / 10))
  await ask<Renamed>(signalbox, { kind: 'rename', perS: CHANGES_PER_S, seconds: 3 })
  await warm.stop()
  await delay(5000)
  const before = await ask<Memory>(signalbox, { kind: 'memory' })
  const listening = await start(clients)
  await delay(5000)
  const idle = await ask<Memory>(signalbox, { kind: 'memory' })
  const cpuBefore = await cpuSeconds(pid)
  const { committedMs } = await ask<Renamed>(signalbox, { kind: 'rename', perS: CHANGES_PER_S, seconds })
  const cpuS = (await cpuSeconds(pid)) - cpuBefore
  await delay(2000)
  listening.send('report')
  const { received, closed } = (await listening.nextMessage()) as ClientsReport
  const after = await ask<Memory>(signalbox, { kind: 'memory' })
  await listening.stop()
  const delays = received.map(([change, atMs]) => atMs - (committedMs[change] ?? Number.NaN)).toSorted((a, b) => a - b)
  const at = (share: number): number => delays[Math.ceil(delays.length * share) - 1] ?? Number.NaN
  const expected = (committedMs.length * clients) / channels.length
  const figures = {
    clients,
    channels: channels.length,
    changes_per_s: Math.round(committedMs.length / seconds),
    messages: received.length,
    messages_expected: expected,
    p50_ms: at(0.5),
    p99_ms: at(0.99),
    worst_ms: at(1),
    kb_per_client: {
      used_idle: kilo((idle.usedBytes - before.usedBytes) / clients),
      used_after: kilo((after.usedBytes - before.usedBytes) / clients),
      resident_idle: kilo((idle.residentBytes - before.residentBytes) / clients),
      resident_after: kilo((after.residentBytes - before.residentBytes) / clients),
    },
    server_cpu_us_per_message: Math.round((cpuS / received.length) * 1e6),
    disconnected: closed,
  }
  if (received.length < expected || closed > 0) return { ...figures, failed: ['messages are missing'] }
  return figures
}

function kilo(bytes: number): number {
  return Math.round(bytes / 100) / 10
}
