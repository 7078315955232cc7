import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseCsv } from './csv.ts'

const options = { field: 'file', required: ['mac'], maxRows: 3 }
const read = (text: string) => parseCsv(Buffer.from(text), options)

describe('parseCsv', () => {
  it('reads columns in any order and case, quotes, and what other programs write', () => {
    const text = '\uFEFFNote,"MAC",name\r\n"a, ""b""\nc", 01 ,\r\n\r\nx,02,"n"\r\n'
    expect(read(text).map(({ line, cells }) => [line, Object.fromEntries(cells)])).toEqual([
      [3, { note: 'a, "b"\nc', mac: '01' }],
      [5, { note: 'x', mac: '02', name: 'n' }],
    ])
  })

  it('knows no special names', () => {
    const [row] = read('mac,__proto__,constructor\n1,2,3\n')
    expect([...(row?.cells ?? [])]).toEqual([
      ['mac', '1'],
      ['__proto__', '2'],
      ['constructor', '3'],
    ])
  })

  it.each([
    ['', /lacks the column mac/],
    ['serial\nS1\n', /line 1 lacks the column mac/],
    ['mac,name,Name\n', /line 1 has the column name twice/],
    [`mac${Array.from({ length: 100 }, (_, index) => `,c${index}`).join('')}\n`, /more than 100 columns/],
    ['mac,name\n1,a\n2\n', /line 3 has 1 columns, not 2/],
    ['mac\n1\n2\n3\n4\n', /more than 3 rows/],
    ['mac\n"1\n', /Quote Not Closed.*line 2/],
    ['mac\n1\0\n', /UTF-8/],
    [`mac\n${'x'.repeat(70_000)}\n`, /Max Record Size/],
  ])('says what is wrong, and where: %j', (text, reason) => {
    expect(() => read(text)).toThrow(
      expect.objectContaining({
        message: expect.stringContaining('Invalid field file: '),
        fields: { reason: expect.stringMatching(reason) },
      }),
    )
  })

  it('refuses bytes that are not text', () => {
    expect(() => parseCsv(Uint8Array.of(0x6d, 0xff), options)).toThrow('Invalid field file: ')
  })

  it('answers or refuses, whatever it is given', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^mac[,"\n\ra ]*$/)), (text) => {
        try {
          for (const { line } of read(text)) expect(line).toBeGreaterThan(1)
        } catch (error) {
          expect(error).toMatchObject({ code: 'invalid' })
        }
      }),
    )
  })
})
