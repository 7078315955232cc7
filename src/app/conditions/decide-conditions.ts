import type { ExpiringDevices } from '../../devices/certificates/store-expiry.ts'
import type { Condition } from '../../events/store-system.ts'
import type { ExpiringMxedge } from '../../mxedges/sessions/store-expiry.ts'
import type { ExpiringCertificate } from '../../webhooks/requests/client-certificate.ts'
import type { FailingWebhook, NamedWebhook } from '../../webhooks/health/store-failing.ts'

/** A condition of the server, or of the organization that `Condition` names besides. */
export type Finding = Omit<Condition, 'orgId' | 'siteId'>

export interface Certificate {
  /** The subject of the certificate, as in "the certificate of the HTTPS server". */
  readonly of: string
  readonly notAfter: Date
  /** True for a CA that devices trust or are trusted by: all of them need new certificates before it expires. */
  readonly isCa?: boolean
}

const DAY_MS = 24 * 3600e3
export const EXPIRES_WITHIN_MS = 30 * DAY_MS
const CA_EXPIRES_WITHIN_MS = 365 * DAY_MS
/** The warning comes early because somebody may have to visit each device. */
export const DEVICES_EXPIRE_WITHIN_MS = 90 * DAY_MS

export function decideCertificates(certificates: readonly Certificate[], now: Date): Finding[] {
  return certificates
    .filter(({ notAfter, isCa = false }) => {
      return notAfter.getTime() - now.getTime() < (isCa ? CA_EXPIRES_WITHIN_MS : EXPIRES_WITHIN_MS)
    })
    .map(({ of, notAfter }) => {
      return {
        type: 'CERTIFICATE_EXPIRING',
        subject: of,
        text: `The certificate of ${of} ${expiry(notAfter, now)}`,
        endedText: `The certificate of ${of} has been replaced`,
      }
    })
}

/** A condition begins at the first share and ends at the second: values that vary between them cause no events. */
const FULL = { begin: 0.9, end: 0.85 } as const

export interface Usage {
  /** The user of the space, as in "firmware images of the organization". */
  readonly of: string
  readonly subject: string
  readonly usedBytes: number
  readonly maxBytes: number
  /** True if the beginning has been reported, and the end has not. */
  readonly isOpen: boolean
}

export function decideUsage({ of, subject, usedBytes, maxBytes, isOpen }: Usage): Finding | null {
  // Storage is not allowed: there is no space to watch.
  if (maxBytes <= 0 || usedBytes < maxBytes * (isOpen ? FULL.end : FULL.begin)) return null
  return {
    type: 'STORAGE_QUOTA_NEARLY_FULL',
    subject,
    text: `${capitalized(of)} use ${gibibytes(usedBytes)} of ${gibibytes(maxBytes)} GiB`,
    endedText: `There is room for ${of} again`,
  }
}

export interface Disk {
  readonly freeBytes: number
  readonly reserveBytes: number
  readonly isOpen: boolean
}

export function decideDisk({ freeBytes, reserveBytes, isOpen }: Disk): Finding | null {
  if (freeBytes >= reserveBytes * (isOpen ? 2.5 : 2)) return null
  return {
    type: 'DISK_SPACE_LOW',
    subject: 'disk',
    text: `The disk of the server has ${gibibytes(freeBytes)} GiB free, and uploads are refused below ${gibibytes(reserveBytes)} GiB`,
    endedText: 'The disk of the server has space again',
  }
}

export function failingCondition({ orgId, id, siteId, name, isPulled }: FailingWebhook): Condition {
  return {
    orgId,
    type: 'WEBHOOK_FAILING',
    subject: id,
    siteId,
    text: `The receiver of webhook "${name}" has ${isPulled ? 'acknowledged no messages for a day' : 'not taken messages for an hour'}`,
    endedText: `Webhook "${name}" no longer fails, or has been disabled or deleted`,
    about: { webhook_id: id },
  }
}

export function overflowingCondition({ orgId, id, siteId, name }: NamedWebhook): Condition {
  return {
    orgId,
    type: 'WEBHOOK_OVERFLOWING',
    subject: id,
    siteId,
    text: `Messages of webhook "${name}" are dropped, because too many wait`,
    endedText: `No message of webhook "${name}" has been dropped for an hour`,
    about: { webhook_id: id },
  }
}

export function clientCertificateCondition(
  { orgId, id, siteId, name, notAfter }: ExpiringCertificate,
  now: Date,
): Condition {
  return {
    orgId,
    type: 'WEBHOOK_CERTIFICATE_EXPIRING',
    subject: id,
    siteId,
    text: `The client certificate of webhook "${name}" ${expiry(notAfter, now)}`,
    endedText: `The client certificate of webhook "${name}" no longer expires soon`,
    about: { webhook_id: id },
  }
}

export function devicesExpiringCondition(
  { orgId, siteId, devices, firstName, firstAt, aps, switches, gateways }: ExpiringDevices,
  now: Date,
): Condition {
  return {
    orgId,
    type: 'DEVICE_CERTIFICATE_EXPIRING',
    subject: `devices ${siteId ?? 'without a site'}`,
    siteId,
    text:
      devices === 1
        ? `The certificate of ${firstName} ${expiry(firstAt, now)}`
        : `The certificates of ${devices} devices expire, that of ${firstName} first: it ${expiry(firstAt, now)}`,
    endedText: 'No certificate of these devices expires soon any more',
    about: { aps, switches, gateways },
  }
}

export function mxedgeExpiringCondition({ orgId, id, name, siteId, expiresAt }: ExpiringMxedge, now: Date): Condition {
  return {
    orgId,
    type: 'DEVICE_CERTIFICATE_EXPIRING',
    subject: id,
    siteId,
    text: `The certificate of edge appliance ${name} ${expiry(expiresAt, now)}`,
    endedText: `The certificate of edge appliance ${name} no longer expires soon`,
  }
}

function expiry(notAfter: Date, now: Date): string {
  return `${notAfter <= now ? 'has expired' : 'expires'} on ${notAfter.toISOString().slice(0, 10)}`
}

export function missingCondition({ orgId, id }: { readonly orgId: string; readonly id: string }): Condition {
  return {
    orgId,
    type: 'FIRMWARE_IMAGE_MISSING',
    subject: id,
    siteId: null,
    text: `The file of firmware image ${id} is missing: delete and upload it again`,
    endedText: `Firmware image ${id} is no longer missing`,
  }
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function gibibytes(bytes: number): string {
  return (bytes / 1024 ** 3).toFixed(1)
}
