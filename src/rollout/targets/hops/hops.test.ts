import { describe, expect, it } from 'vitest'
import {
  command,
  commanded,
  decide,
  move,
  ms,
  offline,
  online,
  planned,
  updated,
  verifying,
} from '../../../../test/support/fleets/targets.ts'
import { finalVersionOf, laterHops } from './hops.ts'
import type { TargetNow } from '../target.ts'

const path = ['2.0', '3.0', '4.0'].map((version) => ({
  version,
  image_id: `image ${version}`,
  reported: [`${version}-stock`],
}))
const [, second, third] = path
const going = (target: TargetNow): TargetNow => ({ ...target, path })
const soaked = 61 + 60 * 60
const on = (hop: typeof second) => ({ ...move('planned'), hop, failedAttempts: 0, lostAttempts: 0, staged: false })

describe('a device that has several hops', () => {
  it('goes on to the next one when it was verified, and ends after the last one', () => {
    expect(decide(going(verifying), soaked)).toEqual(on(second))
    expect(
      decide({ ...going(verifying), targetVersion: '4.0', device: { ...updated, firmware: '4.0' } }, soaked),
    ).toEqual(move('upgraded'))
  })

  it('takes its recovery snapshot after the last one only', () => {
    expect(decide(going(verifying), soaked, { snapshot: true })).toEqual(on(second))
  })

  it('continues after a later hop whose version it already runs, however it got there', () => {
    expect(decide({ ...going(planned), device: { ...online, firmware: '2.0' } })).toEqual(on(second))
    expect(decide({ ...going(planned), device: { ...online, firmware: '4.0-stock' } })).toEqual(on(third))
    const behind = { ...online, firmware: '4.0', memberFirmware: ['4.0', '2.0'] }
    expect(decide({ ...going(planned), device: behind })).not.toMatchObject({ to: 'planned' })
    expect(decide({ ...going(planned), device: { ...offline, firmware: '4.0' } })).toEqual(move('deferred'))
  })

  it('goes on where it would be commanded, or would fail, although it runs the version of a later hop', () => {
    const ahead = { ...online, firmware: '4.0' }
    const lost = { ...going(commanded('expired')), device: ahead }
    expect(decide(lost)).toEqual(on(third))
    const refusing = { ...going(commanded('rejected', { failedAttempts: 2 })), device: ahead }
    expect(decide(refusing)).toEqual(on(third))
    expect(decide({ ...refusing, device: { ...online, firmware: '1.5' } })).toMatchObject({ to: 'failed' })
    expect(decide({ ...going(verifying), device: { ...updated, firmware: '4.0' } }, soaked)).toEqual(on(third))
    expect(decide({ ...going(verifying), device: { ...updated, firmware: '1.5' } }, soaked)).toEqual(
      move('failed', 'not_applied'),
    )
    const awaiting = going(commanded('sent'))
    expect(decide({ ...awaiting, device: ahead })).not.toMatchObject({ to: 'planned' })
    expect(decide({ ...going(commanded('done')), device: ahead })).toEqual(move('rebooting'))
  })

  it('goes on also while the upgrade is paused, but not while it is restored', () => {
    const ahead = { ...online, firmware: '4.0' }
    expect(decide({ ...going(planned), device: ahead }, 61, { held: true })).toEqual(on(third))
    const restored: TargetNow = { ...verifying, state: 'rolling_back', enteredMs: ms(0), device: offline }
    expect(decide(going(restored), soaked)).toEqual(move('failed', 'rollback_failed'))
    const refused = command('rejected', { kind: 'restore_backup' })
    expect(decide({ ...going(restored), device: ahead, command: refused })).toEqual(move('failed', 'rollback_failed'))
  })

  it('is commanded to install the present one, and fails with it', () => {
    expect(decide(going(planned))).toMatchObject({ kind: 'command', order: 'upgrade' })
    expect(decide(going(commanded('rejected', { failedAttempts: 2 })))).toMatchObject({ to: 'failed' })
  })

  it('is cancelled where it has got to when the upgrade stops', () => {
    expect(decide(going(verifying), soaked, { stopping: true })).toEqual(
      move('cancelled', 'stopped on its way, at 2.0'),
    )
    const before = (targetVersion: string) =>
      decide({ ...going(planned), targetVersion, attempt: 1 }, 61, { stopping: true })
    expect(before('3.0')).toEqual(move('cancelled', 'stopped on its way, at 2.0'))
    expect(before('4.0')).toEqual(move('cancelled', 'stopped on its way, at 3.0'))
  })

  it('ends what is under way when the upgrade stops, with its own results', () => {
    const ends = (target: TargetNow) => decide({ ...going(target), targetVersion: '3.0' }, 61, { stopping: true })
    expect(ends(commanded('done'))).toEqual(move('rebooting'))
    expect(ends(commanded('sent'))).toMatchObject({ kind: 'fence' })
    expect(ends(commanded('rejected', { failedAttempts: 2 }))).toMatchObject(move('failed', 'refused'))
  })

  it('is cancelled without that where nothing was begun when the upgrade stops', () => {
    expect(decide(going(planned), 61, { stopping: true })).toEqual(move('cancelled'))
    expect(decide({ ...going(planned), targetVersion: '3.0' }, 61, { stopping: true })).toEqual(move('cancelled'))
    expect(decide({ ...going(planned), attempt: 1 }, 61, { stopping: true })).toEqual(move('cancelled'))
  })

  it('is cancelled as removed if it leaves the organization while the upgrade stops', () => {
    const gone = { ...going(planned), targetVersion: '3.0', attempt: 1, device: null }
    expect(decide(gone, 61, { stopping: true })).toEqual(move('cancelled', 'removed'))
  })
})

it('the last version of the path is the one that is wanted', () => {
  expect(finalVersionOf({ targetVersion: '2.0', path })).toBe('4.0')
  expect(finalVersionOf({ targetVersion: '2.0', path: null })).toBe('2.0')
  expect(laterHops({ targetVersion: '3.0', path })).toEqual([third])
  expect(laterHops({ targetVersion: '4.0', path })).toEqual([])
})
