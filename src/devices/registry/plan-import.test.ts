import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { typeOfModel } from './models.ts'
import { type ManifestItem, type ManifestRow, checkManifest, planImport } from './plan-import.ts'
import type { RegisteredDevice } from './store.ts'

const codeOf = (number: number) => `C${number.toString(16).toUpperCase().padStart(14, '0')}`

const row = (number: number, traits: Partial<ManifestRow> = {}): ManifestRow => ({
  mac: number.toString(16).padStart(12, '0'),
  serial: `S${number}`,
  model: 'AP45',
  claim_code: codeOf(number),
  ...traits,
})

const check = (rows: readonly ManifestRow[]) => checkManifest(rows, typeOfModel)

const registered = (device: ManifestItem, orgId: string | null = null): RegisteredDevice => ({
  id: device.id,
  mac: device.mac,
  serial: device.serial,
  model: device.model,
  type: device.type,
  claimCode: device.claimCode,
  codeOrigin: 'manifest',
  orgId,
  firmware: null,
  createdAt: new Date(0),
  lastSeenAt: null,
})

describe('checkManifest', () => {
  it('normalizes rows, and derives the type from the model unless it is given', () => {
    const { devices, conflicts } = check([
      row(1, { mac: '00:00:00:00:00:0A', claim_code: ' c0000-00000-00001 ' }),
      row(2, { model: 'EX4100-48P' }),
      row(3, { model: 'AP45', type: 'switch' }),
    ])
    expect(conflicts).toEqual([])
    expect(devices.map(({ row, mac, type, claimCode }) => [row, mac, type, claimCode])).toEqual([
      [0, '00000000000a', 'ap', codeOf(1)],
      [1, '000000000002', 'switch', codeOf(2)],
      [2, '000000000003', 'switch', codeOf(3)],
    ])
  })

  it('reports rows that are invalid or repeat another one', () => {
    const { devices, conflicts } = check([
      row(1),
      row(2, { mac: 'nonsense' }),
      row(3, { claim_code: '!' }),
      row(4, { model: 'Toaster' }),
      row(1, { claim_code: 'OTHER' }),
      row(5, { claim_code: 'c0000-0000000001' }),
    ])
    expect(devices.map(({ row }) => row)).toEqual([0])
    expect(conflicts.map(({ row, reason }) => [row, reason])).toEqual([
      [1, 'invalid mac'],
      [2, 'invalid claim_code'],
      [3, expect.stringContaining('type')],
      [4, 'another row has this mac'],
      [5, 'another row has this claim_code'],
    ])
  })
})

describe('planImport', () => {
  const { devices } = check([row(1), row(2), row(3), row(4)])
  const [one, two, three] = devices
  if (one === undefined || two === undefined || three === undefined) throw new Error('the manifest is wrong')

  it('writes new and unclaimed devices, keeps equal ones, and reports contradictions', () => {
    const known = [
      registered(one, 'org'),
      registered({ ...two, model: 'AP34' }),
      registered({ ...three, serial: 'other' }, 'org'),
    ]
    const plan = planImport(devices, known)
    expect(plan.save.map(({ mac }) => mac)).toEqual(['000000000002', '000000000004'])
    expect(plan.unchanged).toHaveLength(1)
    expect(plan.conflicts).toEqual([{ row: 2, mac: three.mac, reason: 'claimed already, with other data' }])
  })

  it('refuses the claim code of another device', () => {
    const holder = registered({ ...two, claimCode: one.claimCode })
    expect(planImport([one], [holder]).conflicts).toMatchObject([
      { row: 0, reason: 'another device has this claim_code' },
    ])
  })

  it('refuses a code that clients do not accept, unless the registry has the device with it', () => {
    for (const claim_code of ['SHORT-1', 'LONGER-THAN-15-CHARS']) {
      const { devices } = check([row(1, { claim_code })])
      const [device] = devices
      if (device === undefined) throw new Error('the manifest is wrong')
      const refused = { row: 0, column: 'claim_code', reason: 'claim_code must have 15 letters and digits' }
      expect(planImport(devices, [])).toMatchObject({ save: [], conflicts: [refused] })
      expect(planImport(devices, [registered(one)])).toMatchObject({ save: [], conflicts: [refused] })
      expect(planImport(devices, [registered(device)])).toEqual({ save: [], unchanged: [device.id], conflicts: [] })
    }
  })

  it('changes nothing the second time', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 0, max: 2 ** 40 })), (numbers) => {
        const { devices } = check(numbers.map((number) => row(number)))
        const { save } = planImport(devices, [])
        expect(save).toHaveLength(numbers.length)
        const again = planImport(
          devices,
          save.map((device) => registered(device)),
        )
        expect(again).toEqual({ save: [], unchanged: save.map(({ id }) => id), conflicts: [] })
      }),
    )
  })
})
