// Devices that get several versions, one after the other, in upgrades whose downloads have phases or a time of their own.
import { beforeEach, describe, expect, it } from 'vitest'
import { pauseOrgUpgrade } from '../../../src/upgrades/changes/pause-org-upgrade.ts'
import { resumeOrgUpgrade } from '../../../src/upgrades/changes/resume-org-upgrade.ts'
import { retryOrgUpgrade } from '../../../src/upgrades/changes/retry-org-upgrade.ts'
import type { OrgUpgradeBody } from '../../../src/upgrades/wire.ts'
import { NEW, type SeededDevice } from '../../support/fleets/fleet.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { countAll, statusOf, useRollout } from '../harness.ts'
import { MIDDLE, seedHop } from './hop-images.ts'

const rollout = useRollout()
const MODEL = 'EX4100'
const twoSteps = { commands: ['stage', 'activate'], restart_members: [], restart_nodes: [] } as const

let devices: SeededDevice[] = []
beforeEach(async () => {
  devices = await rollout.seed([{ devices: 4, type: 'switch', model: MODEL, capabilities: twoSteps }])
  await seedHop(rollout, MODEL)
})

/** The commands that devices have executed since the last call: the kind, the version, and how many devices. */
let done: string[] = []
beforeEach(() => {
  done = []
})

/** Lets the devices execute their commands until no further ones are sent. One that activates an image returns with its version. */
async function play(refuses: (device: SeededDevice, version: string) => boolean = () => false): Promise<void> {
  for (let quiet = 0; quiet < 3;) {
    await rollout.advance()
    await expectConsistent(rollout.ctx)
    const rebooting = new Map<string, SeededDevice[]>()
    const kinds = new Map<string, number>()
    const sent = await rollout.fleet.answer((device, _, { kind, params }) => {
      const version = 'version' in params ? params.version : ''
      if (refuses(device, version)) return 'refuses_content'
      kinds.set(`${kind} ${version}`, (kinds.get(`${kind} ${version}`) ?? 0) + 1)
      if (kind === 'activate') rebooting.set(version, [...(rebooting.get(version) ?? []), device])
      return 'does'
    })
    done.push(...[...kinds].map(([what, count]) => `${what} x${count}`))
    rollout.clock.advance(1000)
    await rollout.advance()
    for (const [version, some] of rebooting) {
      await rollout.fleet.disconnect(some)
      rollout.clock.advance(60_000)
      await rollout.fleet.connect(some, version)
    }
    quiet = sent === 0 ? quiet + 1 : 0
  }
}

async function downloads() {
  const row = await rollout.ctx.db.selectFrom('siteUpgrade').select('downloads').executeTakeFirstOrThrow()
  return row.downloads
}

const later = '2026-03-01T20:00:00Z'
const canary = {
  download_strategy: 'canary',
  reboot_strategy: 'big_bang',
  canary_phases: [25, 50],
} satisfies OrgUpgradeBody

describe.each(['org', 'site'] as const)('with phases of the downloads of the %s', (phase_scope) => {
  it('devices download the first version in them, and later ones when they reboot', async () => {
    const { id } = await rollout.create({ version: NEW, ...canary, phase_scope })
    await play()
    expect(done).toEqual([
      ...[1, 1, 2].map((count) => `stage ${MIDDLE} x${count}`),
      ...[`activate ${MIDDLE} x4`, `stage ${NEW} x4`, `activate ${NEW} x4`],
    ])
    expect([countAll(await rollout.read(id)), statusOf(await rollout.read(id))]).toEqual([
      { upgraded: 4 },
      ['completed'],
    ])
    expect(await downloads()).toMatchObject({ current: 3, failures: {}, downloaded: { 1: 1, 2: 1, 3: 2 } })
  })

  it('a device that has got to a later version by itself downloads in its phase', async () => {
    const { id } = await rollout.create({ version: NEW, ...canary, phase_scope, reboot_datetime: later })
    await rollout.fleet.connect(devices, MIDDLE)
    await rollout.advance()
    await rollout.advance()
    await rollout.advance()
    const stages = await rollout.ctx.db.selectFrom('deviceCommand').select('version').execute()
    expect(stages).toEqual([{ version: NEW }])
    await play()
    expect(done).toEqual([1, 1, 2].map((count) => `stage ${NEW} x${count}`))
    expect(countAll(await rollout.read(id))).toEqual({ downloaded: 4 })
    rollout.clock.advance(8 * 3600e3)
    await play()
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 4 })
    expect(await downloads()).toMatchObject({ downloaded: { 1: 1, 2: 1, 3: 2 } })
  })

  it('a device that gets to the last version by itself, after it has downloaded an earlier one, is upgraded', async () => {
    const { id } = await rollout.create({ version: NEW, ...canary, phase_scope, reboot_datetime: later })
    await play()
    expect(countAll(await rollout.read(id))).toEqual({ downloaded: 4 })
    await rollout.fleet.connect(devices.slice(0, 2), NEW)
    rollout.clock.advance(8 * 3600e3)
    await play()
    expect(done.slice(3)).toEqual([`activate ${MIDDLE} x2`, `stage ${NEW} x2`, `activate ${NEW} x2`])
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 4 })
    expect(await downloads()).toMatchObject({ downloaded: { 1: 1, 2: 1, 3: 2 } })
  })

  it('a device that gets to the last version by itself, after it did not boot the one it had, counts once', async () => {
    const { id } = await rollout.create({ version: NEW, ...canary, phase_scope, reboot_datetime: later })
    await play()
    rollout.clock.advance(8 * 3600e3)
    await rollout.advance()
    await rollout.fleet.answer(() => 'does')
    await rollout.advance()
    expect(countAll(await rollout.read(id))).toEqual({ rebooting: 4 })
    await pauseOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    rollout.clock.advance(3600e3)
    await rollout.advance()
    expect(countAll(await rollout.read(id))).toEqual({ planned: 4 })
    await expectConsistent(rollout.ctx)
    await rollout.fleet.connect(devices, NEW)
    await rollout.advance()
    await expectConsistent(rollout.ctx)
    await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    await play()
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 4 })
    expect(await downloads()).toMatchObject({ downloaded: { 1: 1, 2: 1, 3: 2 } })
  })

  it('each phase of the reboots waits for the last version of its devices, and begins at its time', async () => {
    const body = { ...canary, reboot_strategy: 'canary', phase_scope, reboot_datetime: later }
    const { id } = await rollout.create({ version: NEW, ...body })
    await play()
    expect(done).toEqual([1, 1, 2].map((count) => `stage ${MIDDLE} x${count}`))
    expect(countAll(await rollout.read(id))).toEqual({ downloaded: 4 })
    rollout.clock.advance(8 * 3600e3)
    await play()
    expect(done.slice(3)).toEqual(
      [1, 1, 2].flatMap((count) =>
        [`activate ${MIDDLE}`, `stage ${NEW}`, `activate ${NEW}`].map((what) => `${what} x${count}`),
      ),
    )
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 4 })
  })

  it('a device that fails with a later version fails in its phase of the reboots, and is retried from there', async () => {
    const { id } = await rollout.create({ version: NEW, ...canary, phase_scope, max_failure_percentage: 100 })
    await play((_, version) => version === NEW)
    expect(countAll(await rollout.read(id))).toEqual({ failed: 4 })
    expect(await downloads()).toMatchObject({ failures: {}, downloaded: { 1: 1, 2: 1, 3: 2 } })
    await retryOrgUpgrade(rollout.ctx, rollout.org.scope, { id, macs: null })
    done = []
    await play()
    expect(done).toEqual([`stage ${NEW} x4`, `activate ${NEW} x4`])
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 4 })
    expect(await downloads()).toMatchObject({ failures: {}, downloaded: { 1: 1, 2: 1, 3: 2 } })
  })
})
