// Retries of devices that belong to phases of the downloads, and the gates of these phases.
import { beforeEach, describe, expect, it } from 'vitest'
import { retryOrgUpgrade } from '../../../src/upgrades/changes/retry-org-upgrade.ts'
import type { Reply, SeededDevice } from '../../support/fleets/fleet.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { countAll, useRollout } from '../harness.ts'

const rollout = useRollout()
const twoSteps = { commands: ['stage', 'activate'], restart_members: [], restart_nodes: [] } as const
const switches = (devices: number) => ({ devices, type: 'switch', model: 'EX4100', capabilities: twoSteps }) as const

async function play(reply: (device: SeededDevice, attempt: number) => Reply): Promise<void> {
  await rollout.play(reply)
  await expectConsistent(rollout.ctx)
}

async function retry(id: string): Promise<void> {
  await retryOrgUpgrade(rollout.ctx, rollout.org.scope, { id, macs: null })
  await expectConsistent(rollout.ctx)
}

async function downloads() {
  const { db } = rollout.ctx
  const row = await db.selectFrom('orgUpgrade').select('downloads').executeTakeFirstOrThrow()
  return row.downloads
}

describe('the gate of a phase of the downloads', () => {
  beforeEach(() => rollout.seed([switches(1), switches(1), switches(2)]))

  it.each([false, true])('counts a device that downloads again only once (retried: %s)', async (isRetried) => {
    const [first, second] = rollout.org.sites
    const [bad] = second?.devices ?? []
    if (first === undefined || second === undefined || bad === undefined) throw new Error('no devices')
    const { id } = await rollout.create({
      download_strategy: 'canary',
      reboot_strategy: 'big_bang',
      canary_groups: [{ site_ids: [first.id, second.id] }],
      max_failure_percentage: 100,
      min_success_percentage: 100,
    })
    let answerOfBad: Reply = 'silent'
    const reply = (device: SeededDevice, attempt: number): Reply => {
      if (device.id === bad.id) return answerOfBad
      return attempt % 2 === 1 ? 'does' : 'keeps_old'
    }
    await play(reply)
    expect(await downloads()).toMatchObject({ current: 1, downloaded: { 1: 1 } })
    if (isRetried) {
      await retry(id)
      expect(await downloads()).toMatchObject({ current: 1, downloaded: { 1: 0 } })
      await play(reply)
      expect(await downloads()).toMatchObject({ current: 1, downloaded: { 1: 1 } })
    }
    answerOfBad = 'refuses_content'
    await rollout.fleet.disconnect([bad])
    await rollout.fleet.connect([bad], undefined, 'socket')
    for (let round = 0; round < 2; round += 1) {
      rollout.clock.advance(3 * 3600e3)
      await play(reply)
    }
    expect(await downloads()).toMatchObject({ current: 1, downloaded: { 1: 1 }, failures: { 1: 1 } })
    const { siteUpgrades } = await rollout.read(id)
    const reasons = siteUpgrades.map(({ hold }) => hold?.reason)
    expect(reasons).toContain('1 of 2 devices of download phase 1 have downloaded, less than 100 %')
  })
})

describe.each(['org', 'site'] as const)('with phases of the %s', (scope) => {
  const body = { download_strategy: 'canary', canary_phases: [50], reboot_strategy: 'big_bang', phase_scope: scope }

  it('failed downloads are forgiven in each run, also after runs that failed after their reboots', async () => {
    await rollout.seed([switches(2)])
    const { id } = await rollout.create({ ...body, max_failure_percentage: 100 })
    for (const reply of ['keeps_old', 'refuses_content', 'refuses_content', 'keeps_old'] as const) {
      const begun = new Map(rollout.fleet.attempts)
      const inRun = ({ id: deviceId }: SeededDevice, attempt: number) => attempt - (begun.get(deviceId) ?? 0)
      await play((device, attempt) => (reply === 'keeps_old' && inRun(device, attempt) % 2 === 1 ? 'does' : reply))
      expect(countAll(await rollout.read(id))).toEqual({ failed: 2 })
      await retry(id)
      expect(countAll(await rollout.read(id))).toEqual({ planned: 2 })
    }
    const begun = new Map(rollout.fleet.attempts)
    await play(({ id: deviceId }, attempt) => (attempt === (begun.get(deviceId) ?? 0) + 1 ? 'does' : 'upgrades'))
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 2 })
  })
})

it('a retry of an upgrade that has ended leaves a phase closed before its instant', async () => {
  await rollout.seed([switches(4)])
  const { id } = await rollout.create({
    ...{ download_strategy: 'big_bang', reboot_strategy: 'canary', canary_phases: [25, 100], failure_budget: 1 },
    phase_gates: [{ phase: 1, wait_for: 'time', not_before: rollout.clock.now().getTime() / 1000 + 3600 }],
  })
  // A first phase without a device to retry would hold the upgrade, and its devices are chosen by the id of the upgrade.
  const later = await rollout.ctx.db
    .selectFrom('upgradeTarget')
    .select('deviceId')
    .where('phase', '=', 2)
    .executeTakeFirstOrThrow()
  await play((device, attempt) => (device.id === later.deviceId && attempt === 1 ? 'does' : 'refuses_content'))
  expect(countAll(await rollout.read(id))).toEqual({ cancelled: 1, failed: 3 })
  await retry(id)
  await play(() => 'does')
  // The one that reboots is in the first phase.
  expect(countAll(await rollout.read(id))).toEqual({ cancelled: 1, rebooting: 1, downloaded: 2 })
})
