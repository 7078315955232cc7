import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { typeOfModel } from './models.ts'
import { type ManifestItem, type ManifestRow, checkManifest, planImport } from './plan-import.ts'
import type { RegisteredDevice } from './store.ts'

const row = (number: number, traits: Partial<ManifestRow> = {}): ManifestRow => ({
  mac: number.toString(16).padStart(12, '0'),
  serial: `S${number}`,
  model: 'AP45',
  claim_code: `CODE-${number}`,
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
  orgId,
  firmware: null,
  createdAt: new Date(0),
  lastSeenAt: null,
})

describe('checkManifest', () => {
  it('normalizes rows, and derives the type from the model unless it is given', () => {
    const { devices, conflicts } = check([
      row(1, { mac: '00:00:00:00:00:0A', claim_code: ' code-1 ' }),
      row(2, { model: 'EX4100-48P' }),
      row(3, { model: 'AP45', type: 'switch' }),
    ])
    expect(conflicts).toEqual([])
    expect(devices.map(({ row, mac, type, claimCode }) => [row, mac, type, claimCode])).toEqual([
      [0, '00000000000a', 'ap', 'code-1'],
      [1, '000000000002', 'switch', 'CODE-2'],
      [2, '000000000003', 'switch', 'CODE-3'],
    ])
  })

  it('reports rows that are invalid or repeat another one', () => {
    const { devices, conflicts } = check([
      row(1),
      row(2, { mac: 'nonsense' }),
      row(3, { claim_code: '!' }),
      row(4, { model: 'Toaster' }),
      row(1, { claim_code: 'OTHER' }),
      row(5, { claim_code: 'code1' }),
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
    expect(plan.unchanged).toBe(1)
    expect(plan.conflicts).toEqual([{ row: 2, mac: three.mac, reason: 'claimed already, with other data' }])
  })

  it('refuses the claim code of another device', () => {
    const holder = registered({ ...two, claimCode: 'code1' })
    expect(planImport([one], [holder]).conflicts).toMatchObject([
      { row: 0, reason: 'another device has this claim_code' },
    ])
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
        expect(again).toEqual({ save: [], unchanged: numbers.length, conflicts: [] })
      }),
    )
  })
})
