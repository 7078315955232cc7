import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseCsv } from '../../http/bodies/csv.ts'
import { encodeTable, parseTable } from './device-table.ts'

const read = (csv: string) => parseTable(parseCsv(Buffer.from(csv), { field: 'file', required: ['mac'], maxRows: 100 }))

const facts = { serial: 'S1', model: 'AP45', type: 'ap' } as const

describe('a table of devices', () => {
  it('has a column for each field that devices have in common', () => {
    const doc = { map_id: 'm', x: 1.5, y: 0, height: 2.7, orientation: 90, role: 'a', notes: 'b "c", d', led: {} }
    expect(encodeTable([{ mac: '01', ...facts, name: 'Lobby', doc }])).toBe(
      'mac,serial,model,type,name,map_id,x,y,height,orientation,role,notes\r\n' +
        '01,S1,AP45,ap,Lobby,m,1.5,0,2.7,90,a,"b ""c"", d"\r\n',
    )
  })

  it('contains no formula, and is parsed to the names that look like one', () => {
    const names = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', "'=1", "''=1", "'quoted'"]
    const table = encodeTable(names.map((name) => ({ mac: '01', ...facts, name, doc: { x: -1, notes: name } })))
    expect(table).toContain("01,S1,AP45,ap,'=1+1,,-1,,,,,'=1+1\r\n")
    expect(table.split(/[,\r\n]+/).filter((cell) => /^"?\s*[=+@]/.test(cell))).toEqual([])
    expect(read(table).map(({ item }) => [item['name'], item['notes']])).toEqual(names.map((name) => [name, name]))
  })

  it('leaves a cell empty if the value is missing or has another type', () => {
    const doc = { x: null, role: ['a'], notes: {} }
    expect(encodeTable([{ mac: '01', ...facts, name: null, doc }])).toMatch(/\r\n01,S1,AP45,ap,,,,,,,,\r\n$/)
  })

  it('accepts columns in any order, and ignores empty cells', () => {
    expect(read('Name,MAC,x,serial,role\nA,01,-1.5e2,S,\nB,02,left,,r\n')).toEqual([
      { line: 2, mac: '01', item: { mac: '01', serial: 'S', name: 'A', x: -150 } },
      { line: 3, mac: '02', item: { mac: '02', name: 'B', x: 'left', role: 'r' } },
    ])
  })

  it('refuses unknown columns', () => {
    expect(() => read('mac,band_24.power\n01,3\n')).toThrow(
      expect.objectContaining({ fields: { reason: expect.stringContaining('band_24.power') } }),
    )
  })

  it('is parsed to the values that were written', () => {
    const text = fc
      .string({ unit: 'grapheme', minLength: 1 })
      .filter((cell) => !cell.includes('\0') && cell.isWellFormed())
    const number = fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !Object.is(value, -0))
    const doc = fc.record({ x: number, y: number, role: text, notes: text }, { requiredKeys: [] })
    const device = fc.record({ mac: fc.stringMatching(/^[0-9a-f]{12}$/), name: fc.option(text), doc })
    fc.assert(
      fc.property(fc.array(device, { maxLength: 5 }), (devices) => {
        const items = read(encodeTable(devices.map((one) => ({ ...facts, ...one })))).map(({ item }) => item)
        expect(items).toEqual(
          devices.map(({ mac, name, doc }) => ({ mac, ...facts, ...(name !== null && { name }), ...doc })),
        )
      }),
    )
  })
})
