import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { DriverDevice, Ping } from '../driver.ts'
import { decodePing, decodeSupport, decodeTasks, encodePing, encodeSupport, encodeTaskQuery } from './scripts.ts'
import { isGatewayCall } from './messages.ts'

const ap: DriverDevice = { mac: '02aabbccddee', type: 'ap' }
const ols: DriverDevice = { ...ap, type: 'switch' }
const ping: Ping = { kind: 'ping', host: 'gw.example.net', count: 3, size: 100 }

function scriptOf(device: DriverDevice, order: Ping): string {
  const encoded = encodePing(device, order)
  if (encoded.kind === 'rejected') throw new Error(encoded.text)
  expect(isGatewayCall('script', encoded.call.params)).toBe(true)
  return Buffer.from(String(encoded.call.params['script']), 'base64').toString()
}

describe('a ping', () => {
  test('is a script that an access point runs in a shell, and a switch word by word', () => {
    expect(scriptOf(ap, ping)).toBe('#!/bin/sh\nping -c 3 -s 100 gw.example.net 2>&1\n')
    expect(scriptOf(ols, { ...ping, egressInterface: 'eth0' })).toBe(
      '#!/bin/sh\nping -c 3 -s 100 -I eth0 gw.example.net\n',
    )
  })

  test('may take as long as its pings and the look-up of the name', () => {
    expect(encodePing(ap, { ...ping, count: 100 })).toMatchObject({
      call: { method: 'script', params: { serial: ap.mac, type: 'shell', timeout: 130 } },
      timeoutMs: 160_000,
    })
  })

  test('never contains more than its words, whatever host or interface it is given', () => {
    const hostile = fc.string({ unit: fc.constantFrom(...'ab1.:- \'"`$\\;&|<>(){}!\n\r\0'.split('')) })
    const texts = fc.oneof(
      fc.string(),
      hostile,
      fc.domain(),
      fc.constantFrom('-f', '$(reboot)', 'a;reboot', 'a\nreboot'),
    )
    fc.assert(
      fc.property(texts, fc.option(texts, { nil: undefined }), fc.constantFrom(ap, ols), (host, egress, device) => {
        const order = { ...ping, host, ...(egress !== undefined && { egressInterface: egress }) }
        const encoded = encodePing(device, order)
        if (encoded.kind === 'rejected') expect(encoded.code).toBe('unsafe_host')
        else
          expect(scriptOf(device, order)).toMatch(
            /^#!\/bin\/sh\nping -c 3 -s 100( -I [\w.-]+)? [a-zA-Z0-9:][a-zA-Z0-9.:-]*( 2>&1)?\n$/,
          )
      }),
      { numRuns: 1000 },
    )
  })

  test('is done with what the device printed, whether or not anybody answered', () => {
    expect(decodePing({ status: { error: 0, result: '3 packets received' } })).toEqual({
      kind: 'done',
      text: '3 packets received',
    })
    expect(decodePing({ status: { error: 1, result: '0 packets received' } })).toMatchObject({ kind: 'done' })
    expect(decodePing({ status: { error: 137, result: '' } })).toEqual({ kind: 'done', text: '' })
    const packed = gzipSync('3 packets received').toString('base64')
    expect(decodePing({ status: { error: 0, result_64: packed, result_sz: 18 } })).toMatchObject({
      text: '3 packets received',
    })
    expect(decodePing({ status: { error: 0, result_64: 'AAAA' } })).toMatchObject({ kind: 'done' })
    // 2 MB of zeros: more than is inflated.
    const bomb = gzipSync(Buffer.alloc(2 * 1024 * 1024)).toString('base64')
    expect(decodePing({ status: { error: 0, result_64: bomb } })).toMatchObject({
      text: expect.stringContaining("can't"),
    })
  })

  test.each([
    [{ error: 3, result: 'invalid signature' }, '3', 'invalid signature'],
    [{ error: 2, result: 'invalid base64' }, '2', 'invalid base64'],
    [{ error: 255, result: 'timed out' }, '255', 'timed out'],
    [{ error: 1, text: 'failed to start execution' }, '1', 'failed to start execution'],
    [{ error: 'unknown', result: 255 }, 'unknown', 'the device could not run it'],
  ])('that a device has not run is rejected: %j', (status, code, text) => {
    expect(decodePing({ status })).toEqual({ kind: 'rejected', code, text, final: false })
  })

  test('prints only rows that fit and that the database accepts', () => {
    const outcome = decodePing({ status: { error: 0, result: `a\0${'\u{1f600}'.repeat(100_000)}` } })
    if (outcome?.kind !== 'done' || outcome.text === null) throw new Error('not done')
    expect(outcome.text.length).toBeLessThanOrEqual(16 * 1024)
    expect(outcome.text.isWellFormed() && !outcome.text.includes('\0')).toBe(true)
  })

  test('stays in flight at an answer that says nothing', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        for (const answer of [value, { status: value }])
          expect([null, 'rejected']).toContain(decodePing(answer)?.kind ?? null)
      }),
    )
  })
})

describe('support files', () => {
  const uri = 'https://example.test/support-files/a'

  test("are the device's own diagnostics", () => {
    const encoded = encodeSupport(ols, { uri })
    expect(encoded.call).toEqual({
      method: 'script',
      params: { serial: ols.mac, when: 0, type: 'diagnostic', uri, timeout: 600 },
    })
    expect(isGatewayCall('script', encoded.call.params)).toBe(true)
  })

  test('are pending first, then done, or not', () => {
    const decode = (error: number, result: string) => decodeSupport({ status: { error, result } })
    expect(decode(0, 'pending')).toEqual({ kind: 'accepted' })
    expect(decode(0, 'done')).toEqual({ kind: 'done', text: 'done' })
    expect(decode(1, 'script did not generate any output')).toMatchObject({ kind: 'rejected', code: '1' })
    expect(decode(1, 'error')).toMatchObject({ kind: 'rejected', text: 'error' })
    expect(decode(255, 'timed out')).toMatchObject({ kind: 'rejected', code: '255' })
  })
})

describe('the question which calls an access point has not completed', () => {
  const files = (...ids: number[]) => ids.map((id) => `/tmp/ucentral.cmd.${String(id).padStart(10, '0')}\n`).join('')

  test('is a script that lists their files, and its own', () => {
    const { method, params } = encodeTaskQuery(ap.mac, { ownId: 20, callIds: [1024, 2_147_483_647] })
    expect(method).toBe('script')
    expect(isGatewayCall('script', params)).toBe(true)
    expect(Buffer.from(String(params['script']), 'base64').toString()).toBe(
      '#!/bin/sh\nls /tmp/ucentral.cmd.0000000020 /tmp/ucentral.cmd.0000001024 /tmp/ucentral.cmd.2147483647 2>/dev/null\n',
    )
  })

  test('is answered by the files that exist, if its own is among them', () => {
    const answer = (result: string) => ({ status: { error: 1, result } })
    expect(decodeTasks(answer(files(20)), 20)).toEqual([20])
    expect(decodeTasks(answer(files(20, 1024)), 20)).toEqual([20, 1024])
    for (const result of ['', files(1024), files(21), 'invalid signature', 'timed out'])
      expect(decodeTasks(answer(result), 20)).toBeNull()
    fc.assert(fc.property(fc.anything(), (result) => decodeTasks(result, 20) === null))
  })
})
