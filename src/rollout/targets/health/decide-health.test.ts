import { describe, expect, it } from 'vitest'
import {
  command,
  commanded,
  decide,
  move,
  ms,
  rebooting,
  updated,
  verifying,
} from '../../../../test/support/fleets/targets.ts'
import { findWorse } from './decide-health.ts'
import { defaultRolloutOptions } from '../../rollout.ts'
import type { DeviceHealth, TargetNow } from '../target.ts'

const before: DeviceHealth = { uplinks: ['eth0', 'eth1'], neighbors: ['switch'], radios: ['24', '5'], clients: 10 }
const MINUTE = 60
/** The device is connected since 100. @param at When it reported. */
const reported = (at: number, health: Partial<DeviceHealth> = {}) => ({
  reportedMs: ms(at),
  health: { ...before, ...health },
})
const clientsMs = ms(100 + 10 * MINUTE)

describe('a device is worse off', () => {
  it.each([
    ['in nothing where all is as before', reported(130), null],
    [
      'in nothing where it has more than before',
      reported(130, { uplinks: ['a', 'b', 'c'], radios: ['24', '5', '6'] }),
      null,
    ],
    ['in nothing where half of the clients are back', reported(130, { clients: 5 }), null],
    ['in nothing where nobody counts clients any more', reported(130, { clients: null }), null],
    ['where an uplink is missing', reported(130, { uplinks: ['eth0'] }), 'health_uplink'],
    ['where it hears other switches', reported(130, { neighbors: ['other'] }), 'health_neighbor'],
    ['where a radio is missing', reported(130, { radios: ['5'] }), 'health_radio'],
    ['in nothing that is known before it reports', null, 'health_unknown'],
    ['in nothing where it reports in the moment of its connection', reported(100), null],
    ['by its clients only after ten minutes', reported(130, { clients: 4 }), 'health_unknown'],
    ['where too few clients are back by then', reported(100 + 10 * MINUTE, { clients: 4 }), 'health_clients'],
  ])('%s', (_, latest, reason) => {
    expect(findWorse(before, latest, clientsMs)).toBe(reason)
  })

  it('by less than half of its clients', () => {
    const many = { ...before, clients: 1000 }
    expect(findWorse(many, reported(1000, { clients: 499 }), clientsMs)).toBe('health_clients')
    expect(findWorse(many, reported(1000, { clients: 500 }), clientsMs)).toBeNull()
  })

  it('in nothing that it did not have before', () => {
    const bare = { uplinks: [], neighbors: [], radios: [], clients: null }
    expect(findWorse(bare, { reportedMs: ms(130), health: bare }, clientsMs)).toBeNull()
    expect(findWorse({ ...before, clients: 0 }, reported(130, { clients: 0 }), clientsMs)).toBeNull()
  })
})

describe('a device that runs the version', () => {
  const soaked = 100 + 2 * MINUTE
  const checked = (target: TargetNow, latest: ReturnType<typeof reported> | null): TargetNow => {
    return { ...target, health: { baseline: before, latest } }
  }

  it('is upgraded once it is as healthy as before', () => {
    expect(decide(checked(verifying, reported(130)), soaked)).toEqual(move('upgraded'))
    expect(decide(checked(verifying, reported(130)), soaked, { snapshot: true })).toEqual(move('snapshotting'))
    expect(decide({ ...verifying, health: { baseline: null, latest: null } }, soaked)).toEqual(move('upgraded'))
  })

  it('is waited for until the time to verify it has gone, and fails then with what is missing', () => {
    const worse = checked(verifying, reported(130, { uplinks: [] }))
    const untilMs = ms(100 + 17 * MINUTE)
    expect(decide(worse, soaked)).toEqual({ kind: 'wait', untilMs })
    expect(decide(worse, 100 + 17 * MINUTE)).toEqual(move('failed', 'health_uplink'))
    expect(decide(checked(verifying, null), 100 + 17 * MINUTE)).toEqual(move('failed', 'health_unknown'))
    const early = checked(verifying, reported(130, { clients: 4 }))
    expect(decide(early, 100 + 17 * MINUTE)).toEqual(move('failed', 'health_unknown'))
  })

  it('takes its snapshot once it is as healthy as before, and is not compared again', () => {
    const worse = checked(verifying, reported(130, { uplinks: [] }))
    expect(decide(worse, soaked, { snapshot: true })).toMatchObject({ kind: 'wait' })
    const taken = { ...worse, state: 'snapshotting', command: command('done', { kind: 'snapshot' }) } as const
    expect(decide(taken, soaked, { snapshot: true })).toEqual(move('upgraded'))
  })

  it('fails for another reason whatever its health is', () => {
    const old = { ...verifying, device: { ...updated, firmware: '1.0' } }
    expect(decide(checked(old, reported(130, { uplinks: [] })), soaked)).toEqual(move('failed', 'not_applied'))
  })

  it('is verified first where it was not, and is restored where that was asked for', () => {
    const back = checked({ ...rebooting, device: updated }, null)
    expect(decide(back, 101)).toEqual(move('verifying'))
    const instant = { options: { ...defaultRolloutOptions, soakMs: 0 } }
    expect(decide(checked(commanded('sent', { device: updated }), null), 101, instant)).toEqual(move('verifying'))
    expect(decide(checked(commanded('sent', { device: updated }), reported(101)), 101, instant)).toEqual(
      move('upgraded'),
    )
    const able = { ...updated, commands: ['upgrade', 'restore_backup'] } as const
    const worse = checked({ ...verifying, device: able }, reported(130, { radios: [] }))
    expect(decide(worse, 100 + 17 * MINUTE, { rollback: true })).toMatchObject({
      kind: 'command',
      order: 'restore_backup',
      reason: 'health_radio',
    })
  })
})
