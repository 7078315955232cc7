import { describe, expect, it } from 'vitest'
import { parseManifest } from './manifest.ts'

describe('parseManifest', () => {
  it('reads columns in any order and leaves others out', () => {
    const text = '\uFEFFserial,"mac",note,model,claim_code\r\nS1,aa:bb:cc:00:00:01,x,EAP102,AAAAA-BBBBB-CCCCC\r\n\r\n'
    expect(parseManifest(text)).toEqual([
      { mac: 'aa:bb:cc:00:00:01', serial: 'S1', model: 'EAP102', claim_code: 'AAAAA-BBBBB-CCCCC' },
    ])
  })

  it.each([
    ['mac,serial,model\n', /line 1 lacks the column claim_code/],
    ['mac,serial,model,claim_code\na,b,c\n', /line 2 has 3 columns, not 4/],
    ['', /line 1 lacks the column mac/],
  ])('says which line is wrong: %j', (text, message) => {
    expect(() => parseManifest(text)).toThrow(message)
  })
})
