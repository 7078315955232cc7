import { isDeepStrictEqual } from 'node:util'
import { invalidField } from '../platform/errors.ts'
import { isObject } from '../platform/json/is-object.ts'

/**
 * True if a client may send `sent` to a record that answers show with `present`, which is null if the field is absent.
 */
type Rule = (sent: unknown, present: unknown) => boolean

const same: Rule = (sent, present) => isDeepStrictEqual(sent, present)

/** A client may write a value several times after reading it once, and other clients may write in between. */
const notLater: Rule = (sent, present) =>
  typeof sent === 'number' && typeof present === 'number' && sent > 0 && sent <= present

const statusesInOrder = ['queued', 'upgrading']

/** The present status, or one before it: an upgrade goes on between a read and a write. */
const notLaterStatus: Rule = (sent, present) => {
  const place = statusesInOrder.findIndex((status) => status === sent)
  const presentPlace = statusesInOrder.findIndex((status) => status === present)
  return sent === present || (place >= 0 && (presentPlace < 0 || place < presentPlace))
}

/** It changes without a write, so the client may have read any value. */
const varying: Rule = () => true

/** Answers show it only to some callers. */
const sameIfShown: Rule = (sent, present) => present === null || sent === present

/** Only the answer that creates a token has the whole key; others show its ends. */
const keyOrHint: Rule = (sent, present) =>
  sent === present || (typeof sent === 'string' && `${sent.slice(0, 4)}...${sent.slice(-4)}` === present)

/** The address of one picture differs from hour to hour. */
const samePicture: Rule = (sent, present) => pictureIn(sent) === pictureIn(present)

function pictureIn(url: unknown): unknown {
  return typeof url === 'string' ? (/\/images\/([^/]+)\//.exec(url)?.[1] ?? url) : url
}

const created = { id: same, created_time: same }
const stored = { ...created, modified_time: notLater }
const ofOrg = { ...stored, org_id: same }
const noProvider = { msp_id: same }

/**
 * The fields that only the service sets, by the names of the replies that show the records. Clients send whole records
 * back: a value that they have read passes, and an update refuses another one by name. On creation the fields get the
 * values of the new record, whatever a copy of another record contains.
 */
const readOnlyFields = {
  ApiToken: { ...created, key: keyOrHint, last_used: varying },
  Device: { ...ofOrg, site_id: same, mac: same, serial: same, model: same, type: same },
  Invite: { ...created, org_id: same },
  Mxcluster: { ...ofOrg, for_site: same },
  Mxedge: {
    ...ofOrg,
    ...{ site_id: same, for_site: same, serial: same, magic: sameIfShown },
    ...{ mxagent_registered: varying, tunterm_registered: varying, versions: varying },
    ...{ image1_url: samePicture, image2_url: samePicture, image3_url: samePicture },
  },
  MxedgeUpgrade: {
    ...{ id: same, org_id: same, site_id: same, created_time: same, finished_time: same },
    ...{ status: notLaterStatus, phase: notLater, held: same, stop_reason: same },
    // Each change of the upgrade or of an appliance changes them.
    ...{ phase_sizes: varying, counts: varying, notes: varying, awaited: varying, waits_until: varying },
    ...{ offline: varying, phase_times: varying, approvals: varying },
    ...{ creator: varying, start_gate: varying, gates: varying },
  },
  Org: { ...ofOrg, ...noProvider, msp_name: same, msp_logo_url: same },
  OrgApiToken: { ...created, org_id: same, created_by: same, key: keyOrHint, last_used: varying },
  OrgSetting: {
    ...ofOrg,
    ...noProvider,
    ...{ site_id: same, for_site: same, blacklist_url: same, cradlepoint: same, pcap_bucket_verified: same },
    ...{ watched_station_url: same, whitelist_url: same },
  },
  Site: { ...ofOrg, tzoffset: varying },
  SiteGroup: ofOrg,
  SiteMap: { ...ofOrg, site_id: same, for_site: same, url: samePicture, thumbnail_url: samePicture },
  SiteSetting: {
    ...ofOrg,
    ...noProvider,
    ...{ site_id: same, for_site: same, blacklist_url: same, cradlepoint: same, pcap_bucket_verified: same },
    ...{ watched_station_url: same, whitelist_url: same },
  },
  Sso: { ...ofOrg, ...noProvider, site_id: same, domain: same },
  SsoRole: { ...ofOrg, ...noProvider, site_id: same, for_site: same },
  Webhook: {
    ...ofOrg,
    site_id: same,
    for_site: same,
    former_secrets_until: varying,
    client_cert_expires_time: varying,
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Rule>>>>

export type RecordName = keyof typeof readOnlyFields

export function isRecordName(name: string | undefined): name is RecordName {
  return name !== undefined && Object.hasOwn(readOnlyFields, name)
}

export function readOnlyOf(record: RecordName): string[] {
  return Object.keys(readOnlyFields[record])
}

/** True if a body has a read-only field, so that it must be compared with the record. */
export function hasReadOnly(record: RecordName, body: unknown): boolean {
  return isObject(body) && readOnlyOf(record).some((field) => field in body)
}

/**
 * Asserts that a body has only such values for the read-only fields as a client can have read. Null and an empty text
 * are ignored: typed clients send them for fields that they require and have not read.
 * @param present As answers show the record.
 * @throws AppError invalid, which names the field.
 */
export function assertReadOnly(record: RecordName, body: unknown, present: unknown): void {
  if (!isObject(body) || !isObject(present)) return
  const rules: Readonly<Record<string, Rule>> = readOnlyFields[record]
  for (const [field, isAllowed] of Object.entries(rules)) {
    const value = body[field] ?? ''
    if (value !== '' && !isAllowed(value, present[field] ?? null))
      throw invalidField(field, "can't be changed: the service sets it")
  }
}
