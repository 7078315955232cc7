import { expect, it } from 'vitest'
import { parseManifest } from './parse-manifest.ts'

const parse = (...lines: string[]) => parseManifest(Buffer.from(lines.join('\n')))

it('parses rows, with their type if it is given', () => {
  const { rows, conflicts } = parse(
    'serial,mac,note,model,claim_code,type',
    'S1,aa:bb:cc:00:00:01,x,EAP102,AAAAA-BBBBB,',
    '',
    'S2,02,,Box,CCCCC,MXEDGE',
  )
  expect(conflicts).toEqual([])
  expect(rows).toEqual([
    { row: 0, line: 2, given: { mac: 'aa:bb:cc:00:00:01', serial: 'S1', model: 'EAP102', claim_code: 'AAAAA-BBBBB' } },
    { row: 1, line: 4, given: { mac: '02', serial: 'S2', model: 'Box', claim_code: 'CCCCC', type: 'mxedge' } },
  ])
})

it('names the row, the line and the column of an error', () => {
  const { rows, conflicts } = parse(
    'mac,serial,model,claim_code,type',
    '01,S1,EAP102,C1,toaster',
    '02,,EAP102,C2,ap',
    `03,S3,${'x'.repeat(101)},C3,ap`,
    '04,S4,EAP102,C4,ap',
    ',S5,EAP102,C5,ap',
  )
  expect(rows.map(({ row }) => row)).toEqual([3])
  expect(conflicts).toEqual([
    { row: 0, line: 2, mac: '01', column: 'type', reason: 'type must be one of ap, switch, gateway, mxedge' },
    { row: 1, line: 3, mac: '02', column: 'serial', reason: 'serial is required' },
    { row: 2, line: 4, mac: '03', column: 'model', reason: 'model has more than 100 characters' },
    { row: 4, line: 6, mac: '', column: 'mac', reason: 'mac is required' },
  ])
})

it.each([
  ['mac,serial,model\n', 'line 1 lacks the column claim_code'],
  ['mac,serial,model,claim_code\na,b,c\n', 'line 2 has 3 columns, not 4'],
])('refuses %j as a whole', (text, reason) => {
  expect(() => parse(text)).toThrow(
    expect.objectContaining({ message: expect.stringContaining('Invalid field manifest: '), fields: { reason } }),
  )
})
