import { describe, expect, test } from 'vitest'
import { candidateOf, catalogEntry } from '../../../test/support/fleets/candidates.ts'
import { type StartTime, parseStartTime } from './plan-start.ts'
import type { RequestedTime, RequestedVersion } from '../org-upgrade.ts'
import { type UpgradeDevice, decideEntry, planDevicesInSteps, summarizeVersions } from './plan-org-upgrade.ts'
import { allDevices } from './plan-selection.ts'
import * as planning from './plan-times.ts'
import { atOnce } from '../../platform/queues/next-turn.ts'

const now = new Date('2026-06-13T12:00:00Z')
const berlin = { id: 'b', name: 'Berlin', timezone: 'Europe/Berlin', groups: [] }
const tokyo = { id: 't', name: 'Tokyo', timezone: 'Asia/Tokyo', groups: [] }
const nowhere = { id: 'n', name: 'Nowhere', timezone: 'Middle/Earth', groups: [] }

function at(text: string, field = 'start_datetime'): RequestedTime {
  const time: StartTime | null = parseStartTime(text)
  if (time === null) throw new Error(text)
  return { field, time }
}

type Requested = Partial<Parameters<typeof planning.planTimes>[0]>

function planTimes(requested: Requested, sites: Parameters<typeof planning.planTimes>[1], now: Date) {
  return planning.planTimes({ start: null, reboot: null, notBefore: [], ...requested }, sites, now)
}

describe('times', () => {
  test('default to now', () => {
    const times = planTimes({ start: null, reboot: null }, [berlin], now)
    expect(times.get('b')).toEqual({
      startAt: now,
      rebootAt: now,
      timezone: 'Europe/Berlin',
      windows: [],
      warnings: [],
    })
  })

  test('a reboot before the start is refused', () => {
    const reboot = at('2026-06-13T23:59:59Z', 'reboot_datetime')
    expect(() => planTimes({ start: at('2026-06-14T00:00:00Z'), reboot }, [berlin, tokyo], now)).toThrow(
      'Invalid field reboot_datetime: is 2026-06-13T23:59:59.000Z, before start_datetime, which is 2026-06-14T00:00:00.000Z',
    )
    const local = { start: at('2026-06-14T03:00'), reboot: at('2026-06-14T02:59', 'reboot_datetime') }
    expect(() => planTimes(local, [berlin], now)).toThrow('is 2026-06-14T02:59:00.000, before start_datetime')
  })

  test('a phase before the start, or in the past, is refused', () => {
    const notBefore = [at('2026-06-15T00:00:00Z', 'phase_gates.1.not_before')]
    expect(() => planTimes({ start: at('2026-06-16T00:00:00Z'), notBefore }, [berlin, tokyo], now)).toThrow(
      'Invalid field phase_gates.1.not_before: is 2026-06-15T00:00:00.000Z, before start_datetime, which is 2026-06-16T00:00:00.000Z',
    )
    // It is before the start at one of the sites only.
    expect(planTimes({ start: at('2026-06-15T01:00'), notBefore }, [berlin, tokyo], now).size).toBe(2)
    expect(() => planTimes({ notBefore }, [berlin], new Date('2026-06-15T00:05:01Z'))).toThrow(
      'Invalid field phase_gates.1.not_before: is 2026-06-15T00:00:00.000Z, more than 5 minutes ago',
    )
  })

  test('a reboot that is before the start at some sites is one at the start there, which is noted', () => {
    const mixed = { start: at('2026-06-14T00:00'), reboot: at('2026-06-13T20:00:00Z', 'reboot_datetime') }
    const times = planTimes(mixed, [berlin, tokyo], now)
    expect(times.get('t')).toMatchObject({ rebootAt: new Date('2026-06-13T20:00:00Z'), warnings: [] })
    expect(times.get('b')).toMatchObject({
      rebootAt: new Date('2026-06-13T22:00:00Z'),
      warnings: [{ reason: expect.stringMatching(/^reboot_datetime is before start_datetime .*Europe\/Berlin: /) }],
    })
  })

  test('a start is never before now', () => {
    expect(planTimes({ start: at('2026-06-13T11:55:00Z'), reboot: null }, [berlin], now).get('b')).toMatchObject({
      startAt: now,
    })
  })

  test('a local time that has just gone by means now; one gone at every site is refused', () => {
    const justGone = { start: at('2026-06-13T13:56'), reboot: null }
    expect(planTimes(justGone, [berlin], now).get('b')).toMatchObject({ startAt: now })
    expect(() => planTimes(justGone, [tokyo], now)).toThrow(
      'Invalid field start_datetime: has gone by already at Tokyo (Asia/Tokyo)',
    )
    expect(() => planTimes({ start: null, reboot: at('2026-06-13T13:00', 'reboot_datetime') }, [berlin], now)).toThrow(
      'Invalid field reboot_datetime: ',
    )
  })

  test('a local time that has gone by at some sites means now there, which is noted', () => {
    const times = planTimes(
      { start: at('2026-06-13T15:00'), reboot: at('2026-06-13T15:30', 'reboot_datetime') },
      [berlin, tokyo],
      now,
    )
    expect(times.get('b')).toMatchObject({
      startAt: new Date('2026-06-13T13:00:00Z'),
      rebootAt: new Date('2026-06-13T13:30:00Z'),
      warnings: [],
    })
    const reason = (field: string) => expect.stringMatching(new RegExp(`^${field} has gone by already .*Asia/Tokyo: `))
    expect(times.get('t')).toMatchObject({
      startAt: now,
      rebootAt: now,
      warnings: [{ reason: reason('start_datetime') }, { reason: reason('reboot_datetime') }],
    })
  })

  test('an instant more than 5 minutes ago is refused, even without a site', () => {
    for (const sites of [[], [berlin]])
      for (const field of ['start', 'reboot'] as const)
        expect(() =>
          planTimes({ start: null, reboot: null, [field]: at('2026-06-13T11:54:59Z', 'start_time') }, sites, now),
        ).toThrow('Invalid field start_time: ')
  })

  test('an unknown zone is UTC, with a warning', () => {
    const times = planTimes({ start: at('2026-06-13T15:00'), reboot: null }, [nowhere], now)
    expect(times.get('n')).toMatchObject({
      startAt: new Date('2026-06-13T15:00:00Z'),
      timezone: 'UTC',
      warnings: [{ reason: 'unknown time zone "Middle/Earth", taken as UTC' }],
    })
  })
})

const catalog = ['1.0', '2.0'].map((version) => catalogEntry(version))
const device = candidateOf('1')
const latest: RequestedVersion = {
  field: null,
  firmwareType: null,
  version: 'latest',
  modelVersion: new Map(),
  force: false,
}

function kinds(devices: readonly UpgradeDevice[], versions: readonly RequestedVersion[] = [latest]): string[] {
  return atOnce(planDevicesInSteps({ selection: allDevices, versions }, devices, catalog)).map(({ kind }) => kind)
}

describe('devices', () => {
  test('are upgraded, skipped or left out', () => {
    const updated = { ...device, fromVersion: '2.0' }
    expect(kinds([device, updated, { ...device, model: 'AP-9' }])).toEqual(['upgrade', 'skip', 'leave_out'])
    expect(kinds([updated], [{ ...latest, force: true }])).toEqual(['upgrade'])
  })

  test('are not skipped while a member of the chassis is behind', () => {
    expect(kinds([{ ...device, fromVersion: '2.0', memberVersions: ['2.0', '1.0'] }])).toEqual(['upgrade'])
    expect(kinds([{ ...device, fromVersion: '2.0', memberVersions: ['2.0', '2.0'] }])).toEqual(['skip'])
  })

  test("that can't be upgraded are left out with the reason, unless they run the version already", () => {
    const cluster = { ...device, upgradeRefusal: 'it is a cluster' }
    const plan = (one: UpgradeDevice) =>
      atOnce(planDevicesInSteps({ selection: allDevices, versions: [latest] }, [one], catalog))
    expect(plan(cluster)).toMatchObject([{ kind: 'leave_out', reason: 'it is a cluster' }])
    expect(plan({ ...cluster, fromVersion: '2.0' })).toMatchObject([{ kind: 'skip' }])
    expect(() => kinds([cluster], [{ ...latest, field: 'version', version: '2.0' }])).toThrow(
      'Invalid field version: it is a cluster',
    )
  })

  test('that get nothing by default are left out; a version asked for in vain is refused', () => {
    const other = { ...device, model: 'AP-9' }
    expect(kinds([other])).toEqual(['leave_out'])
    expect(() => kinds([other], [{ ...latest, field: 'version', version: '2.0' }])).toThrow('Invalid field version: ')
    expect(() => kinds([], [{ ...latest, field: 'version', version: '3.0' }])).toThrow('Invalid field version: ')
    expect(kinds([other, device], [{ ...latest, field: 'version', version: '2.0' }])).toEqual(['leave_out', 'upgrade'])
  })
})

test('the record names the version, all of them, or what was asked for', () => {
  expect(summarizeVersions(new Set(['2.0']), [latest])).toBe('2.0')
  expect(summarizeVersions(new Set(['2.0', '1.0']), [latest])).toBe('1.0, 2.0')
  expect(summarizeVersions(new Set(), [latest])).toBe('latest')
})

describe('a device that is to get a version', () => {
  const catalog = ['1.0', '2.0', '3.0'].map((version) => catalogEntry(version))
  const entry = catalogEntry('2.0')
  const decide = (
    device: Partial<UpgradeDevice>,
    more: { readonly force?: boolean; readonly keepsHigher?: true } = {},
  ) => decideEntry({ ...candidateOf('a'), ...device }, { entry, force: false, ...more }, catalog)

  test('keeps a higher one where that is wanted, and goes down else', () => {
    const reason = 'runs 3.0, which is higher than 2.0'
    expect(decide({ fromVersion: '3.0' }, { keepsHigher: true })).toMatchObject({ kind: 'leave_out', reason })
    expect(decide({ fromVersion: '3.0' })).not.toHaveProperty('keepsHigher')
    expect(decide({ fromVersion: '3.0' }).kind).toBe('upgrade')
    expect(decide({ fromVersion: '1.0' }, { keepsHigher: true })).toMatchObject({ kind: 'upgrade', keepsHigher: true })
  })

  test('is skipped if it runs that one, unless it is forced', () => {
    expect(decide({ fromVersion: '2.0' }).kind).toBe('skip')
    expect(decide({ fromVersion: '2.0' }, { force: true })).toMatchObject({ kind: 'upgrade', force: true })
  })

  test('goes through others if it has to, and is left out if there is no way', () => {
    const wanted = catalogEntry('3.0', { minVersion: '2.0' })
    const reach = (known: typeof catalog) =>
      decideEntry(candidateOf('a'), { entry: wanted, force: false }, known.concat(wanted))
    expect(reach([catalogEntry('1.0'), entry])).toMatchObject({ kind: 'upgrade', via: [{ version: '2.0' }] })
    expect(reach([catalogEntry('1.0')])).toMatchObject({ kind: 'leave_out' })
  })

  test('is left out if it can not be upgraded', () => {
    const reason = 'is full'
    expect(decide({ upgradeRefusal: reason })).toMatchObject({ kind: 'leave_out', reason })
  })
})
