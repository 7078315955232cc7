import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSecrets } from '../../platform/secrets.ts'
import { type DownloadPath, firmwareDownloadUrl, openDownloadTicket } from './download-url.ts'

const BASE = 'https://net.example:8443'
const secrets = createSecrets(randomBytes(32))
const ticket = fc.record({ orgId: fc.uuid(), commandId: fc.uuid(), imageId: fc.uuid() })
const expiry = fc.date({ min: new Date(10_000), max: new Date('2100-01-01T00:00:00Z'), noInvalidDate: true })

function pathOf(url: string): DownloadPath {
  const [org_id = '', command_id = '', image_id = '', expires = '', signature = ''] = url
    .slice(`${BASE}/firmware/`.length)
    .split('/')
  return { org_id, command_id, image_id, expires, signature }
}

const openAt = (ms: number, path: DownloadPath) =>
  openDownloadTicket({ secrets, clock: { now: () => new Date(ms) } }, path)

describe('firmwareDownloadUrl', () => {
  it('is valid unchanged, until it expires', () => {
    fc.assert(
      fc.property(ticket, expiry, (ticket, expiresAt) => {
        const url = firmwareDownloadUrl({ secrets, baseUrl: BASE }, ticket, expiresAt)
        expect(url).toMatch(/^https:\/\/net\.example:8443\/firmware\/[A-Za-z0-9_/-]+$/)
        const second = Math.floor(expiresAt.getTime() / 1000) * 1000
        expect(openAt(second - 1, pathOf(url))).toEqual(ticket)
        expect(() => openAt(second, pathOf(url))).toThrow('expired')
      }),
    )
  })

  it('is invalid in any other form, and under any other key', () => {
    const parts = ['org_id', 'command_id', 'image_id', 'expires', 'signature'] as const
    fc.assert(
      fc.property(ticket, expiry, fc.constantFrom(...parts), fc.string(), (ticket, expiresAt, part, value) => {
        const path = pathOf(firmwareDownloadUrl({ secrets, baseUrl: BASE }, ticket, expiresAt))
        fc.pre(path[part] !== value)
        expect(() => openAt(0, { ...path, [part]: value })).toThrow('Not found.')
      }),
    )
    const foreign = firmwareDownloadUrl(
      { secrets: createSecrets(randomBytes(32)), baseUrl: BASE },
      { orgId: 'a', commandId: 'b', imageId: 'c' },
      new Date(1e12),
    )
    expect(() => openAt(0, pathOf(foreign))).toThrow('Not found.')
  })
})
