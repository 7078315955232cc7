// The real agents, and in one case the real server, are killed shortly before the end of an upgrade, and come back after it.
import { randomBytes } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout as wait } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { bundleAgent } from '../../../scripts/bundle-agent.ts'
import { afterFile } from '../../support/after-file.ts'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { type KillableService, startKillableService } from '../../support/servers/killable-service.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type Kill, KillableAgent, createMachine } from './killable-agent.ts'

const WITHIN_MS = 120_000
/** Leaves time for the kill of the server. */
const UNTIL_END_S = 3

let world: KillableService
let program: string
let place: string
beforeAll(async () => {
  place = await temporaryDir(afterFile)
  program = join(place, 'agent.mjs')
  world = await startKillableService(afterFile)
  await bundleAgent(fileURLToPath(new URL('killed-agent.ts', import.meta.url)), program)
  for (const version of ['2.0.0', '3.0.0'])
    await world.client.upload(`${world.org}/firmware?version=${version}&package=tunterm`, randomBytes(400_000))
}, WITHIN_MS)

/** Where an agent is when the end comes, and what becomes of its appliance. Null: it lives, and its installation is held up. */
interface Moment {
  readonly at: Kill | null
  readonly ends: 'success' | 'cancelled'
}

/** The first command downloads the package, the second one installs it. */
const moments: readonly Moment[] = [
  { at: ['command recorded', 1], ends: 'cancelled' },
  { at: ['part written', 1], ends: 'cancelled' },
  { at: ['answer recorded', 1], ends: 'cancelled' },
  { at: ['command recorded', 2], ends: 'success' },
  { at: ['hook begun', 1], ends: 'success' },
  { at: ['package installed', 1], ends: 'success' },
  { at: ['answer recorded', 2], ends: 'success' },
  { at: ['answer sent', 2], ends: 'success' },
  { at: null, ends: 'success' },
]

interface Box extends Moment {
  readonly id: string
  readonly agent: KillableAgent
  /** The folder that is its machine. */
  readonly machine: string
}

async function addBox(moment: Moment): Promise<Box> {
  const { org, service } = world
  const { id, magic } = await world.post(`${org}/mxedges`, { name: String(moment.at), model: 'ME-VM' })
  const machine = join(place, id, 'machine')
  await createMachine(machine, '1.0.0')
  const settings = { folder: join(place, id, 'agent'), machine, url: service.url, code: magic }
  const agent = new KillableAgent(program, { role: 'edge', mac: '', ...settings })
  afterFile(() => agent.end())
  agent.start(null)
  const isConfigured = ({ kind, status }: AnyJson): boolean => kind === 'configure' && status === 'done'
  const path = `${org}/mxedges/${id}/commands`
  await waitUntil('the agent is configured', async () => (await world.get(path)).some(isConfigured), WITHIN_MS)
  await agent.untilSettled()
  await agent.arm(moment.at)
  if (moment.at === null) await writeFile(join(machine, 'hold'), '')
  return { ...moment, id, agent, machine }
}

const read = (machine: string, name: string): Promise<string> => readFile(join(machine, name), 'utf8')

async function hasArrived({ at, agent, machine }: Box): Promise<unknown> {
  if (at !== null) return agent.untilKilled()
  return waitUntil('it installs', async () => (await read(machine, 'notes')).includes('begin install'), WITHIN_MS)
}

async function upgradeOf(boxes: readonly Box[], body: object): Promise<string> {
  const { id } = await world.post(`${world.org}/mxedges/upgrade`, { mxedge_ids: boxes.map((box) => box.id), ...body })
  return `${world.org}/mxedges/upgrade/${id}`
}

const untilOver = (path: string): Promise<AnyJson> =>
  waitUntil(
    'the upgrade is over',
    async () => {
      const record = await world.get(path)
      return ['completed', 'failed', 'cancelled'].includes(record.status) ? record : null
    },
    WITHIN_MS,
  )

/** Moves the end of an upgrade near, since the clock of another process can't be moved. @returns The end. */
async function endSoon(path: string): Promise<number> {
  const endS = Math.floor(Date.now() / 1000) + UNTIL_END_S
  const text = "update mxedge_upgrade set plan = jsonb_set(plan, '{ends_s}', to_jsonb($1::bigint)) where id = $2"
  await world.service.query(text, [endS, path.split('/').at(-1)])
  return endS
}

test.each([false, true])(
  'appliances in flight at the end of an upgrade finish once, and the others stay as they are; the server is killed: %s',
  { timeout: 4 * WITHIN_MS },
  async (killsServer) => {
    const { service } = world
    const boxes = await Promise.all(moments.map(addBox))
    const inAnHour = Math.floor(Date.now() / 1000) + 3600
    const path = await upgradeOf(boxes, { versions: { tunterm: '2.0.0' }, end_time: inAnHour })
    await Promise.all(boxes.map(hasArrived))
    const endS = await endSoon(path)
    if (killsServer) await service.end('SIGKILL')
    await wait(Math.max(0, 1000 * endS - Date.now()))
    if (killsServer) service.start()
    expect(await service.ready()).toBe(true)
    for (const { agent, at } of boxes) if (at !== null) agent.start(null)
    for (const { machine } of boxes) await rm(join(machine, 'hold'), { force: true })
    const record = await untilOver(path)
    const countOf = (ends: Moment['ends']): number => moments.filter((moment) => moment.ends === ends).length
    expect(record).toMatchObject({
      status: 'cancelled',
      stop_reason: `ended at its end_time, ${new Date(1000 * endS).toISOString()}`,
      counts: { success: countOf('success'), cancelled: countOf('cancelled'), failed: 0 },
    })
    await Promise.all(boxes.map(({ agent }) => agent.untilSettled()))
    const targets = new Map(
      (await world.get(`${path}/targets`)).map((target: AnyJson) => [target.mxedge_id, target.status]),
    )
    for (const { id, at, ends, machine } of boxes) {
      const notes = (await read(machine, 'notes')).split('\n').filter((line) => line.endsWith('install'))
      const isUpgraded = ends === 'success'
      expect({ at, status: targets.get(id), notes, version: await read(machine, 'version') }).toEqual({
        ...{ at, status: ends, version: isUpgraded ? '2.0.0' : '1.0.0' },
        notes: isUpgraded ? ['begin install', 'end install'] : [],
      })
    }
    const next = await untilOver(await upgradeOf(boxes, { versions: { tunterm: '3.0.0' } }))
    expect(next).toMatchObject({ status: 'completed', counts: { success: boxes.length } })
    for (const { agent } of boxes) await agent.end()
  },
)
