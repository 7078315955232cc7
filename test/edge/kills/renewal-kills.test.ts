// The agent is killed at each point of the renewal of its certificate, and starts again.
import { X509Certificate, createPrivateKey } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { bundleAgent } from '../../../scripts/bundle-agent.ts'
import { renewalPoints } from '../../../src/agent/points.ts'
import { addMxedge } from '../../support/fleets/mxedges.ts'
import { afterFile } from '../../support/after-file.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { KillableAgent, createMachine, listBrokenFiles } from './killable-agent.ts'
import { untilConnected } from '../start-agent.ts'
import { type EdgeWorld, eventTypes, openAgent, startEdgeWorld } from '../world.ts'

const NINE_YEARS_MS = (9 * 365 + 10) * 24 * 3_600_000
const WITHIN_MS = 60_000

let world: EdgeWorld
let folder: string
let program: string
beforeAll(async () => {
  folder = await temporaryDir(afterFile)
  program = join(folder, 'agent.mjs')
  world = await startEdgeWorld()
  afterFile(() => world.close())
  await bundleAgent(fileURLToPath(new URL('killed-agent.ts', import.meta.url)), program)
}, WITHIN_MS)

interface Pair {
  readonly certificate: string
  readonly ca: string
  readonly key: string
}

/** Returns every certificate in the folder of the agent that has its key there. */
async function pairsIn(state: string): Promise<Pair[]> {
  const names = await readdir(state)
  const read = (name: string) => readFile(join(state, name), 'utf8')
  const keyOfRegistration = names.includes('key.pem') ? await read('key.pem') : null
  const files = names.filter((name) => name === 'registration.json' || name === 'next.json')
  const found = await Promise.all(files.map(async (name) => JSON.parse(await read(name)) as Partial<Pair>))
  return found.flatMap(({ certificate, ca, key = keyOfRegistration }) =>
    certificate !== undefined &&
    ca !== undefined &&
    key !== null &&
    new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))
      ? [{ certificate, ca, key }]
      : [],
  )
}

test.each(renewalPoints)(
  'after a kill at "%s" the agent has a valid pair, and ends with the renewed one',
  async (point) => {
    const { id, magic } = await addMxedge(world)
    const place = join(folder, point.replaceAll(' ', '-'))
    const machine = join(place, 'machine')
    await createMachine(machine, '1.0.0')
    const state = join(place, 'agent')
    const agent = new KillableAgent(program, {
      ...{ role: 'edge', code: magic, mac: '' },
      ...{ folder: state, machine, url: world.url },
    })
    afterFile(() => agent.end())
    agent.start(null)
    await untilConnected(world, id)
    await agent.untilSettled()
    const [former] = await pairsIn(state)
    if (former === undefined) throw new Error('the agent has no certificate')
    await agent.arm([point, 1])
    world.shift(NINE_YEARS_MS)
    try {
      // It connects again, and hears that its certificate is due.
      world.advance(200_000)
      await agent.untilKilled()
      expect(await listBrokenFiles(state)).toEqual([])
      expect((await pairsIn(state)).length).toBeGreaterThan(0)
      agent.start(null)
      const row = () => world.ctx.db.selectFrom('mxedge').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
      await waitUntil(
        'one pair, which counts',
        async () => {
          const names = await readdir(state)
          return !names.some((name) => /^next|^key/.test(name)) && (await row()).renewalKey === null
        },
        WITHIN_MS,
      )
      await agent.untilSettled()
      const [left, ...others] = await pairsIn(state)
      expect(others).toEqual([])
      expect(left?.certificate).not.toBe(former.certificate)
      expect((await eventTypes(world, id)).filter((type) => type === 'ME_CERTIFICATE_RENEWED')).toHaveLength(1)
      const late = await openAgent(world, { ...former, key: createPrivateKey(former.key) })
      await expect(late.hello()).rejects.toThrow('closed with 4001')
    } finally {
      world.shift(-NINE_YEARS_MS)
      await agent.end()
    }
  },
  2 * WITHIN_MS,
)
