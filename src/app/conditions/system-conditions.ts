import { listExpiringDevices } from '../../devices/certificates/store-expiry.ts'
import { type Condition, type ConditionKey, listOpenConditions, updateConditions } from '../../events/store-system.ts'
import { listMissingImages } from '../../firmware/storage/check-files.ts'
import { listExpiringMxedges } from '../../mxedges/sessions/store-expiry.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import type { Task } from '../../platform/time/jobs.ts'
import { findExpiringCertificates } from '../../webhooks/requests/client-certificate.ts'
import { OVERFLOWING_MS } from '../../webhooks/health/decide-state.ts'
import { listFailingWebhooks, listOverflowingWebhooks } from '../../webhooks/health/store-failing.ts'
import {
  type Certificate,
  DEVICES_EXPIRE_WITHIN_MS,
  EXPIRES_WITHIN_MS,
  type Finding,
  decideCertificates,
  decideDisk,
  clientCertificateCondition,
  devicesExpiringCondition,
  mxedgeExpiringCondition,
  decideUsage,
  failingCondition,
  missingCondition,
  overflowingCondition,
} from './decide-conditions.ts'
import type { Storage } from '../storage.ts'
import { listConcernedOrgs, listUsage } from './store-conditions.ts'
import { type TlsMaterial, certificatesIn } from '../tls.ts'
import { keysOf } from '../../platform/records.ts'

export interface WatchedParts {
  readonly storage: Pick<Storage, 'disk' | 'settings' | 'firmwareFiles'>
  readonly certificates: readonly Certificate[]
}

/** Returns the chore that reports to organizations when a condition of the service begins and ends. */
export function conditionTasks(ctx: Context, parts: WatchedParts): Task[] {
  return [{ name: 'system_conditions', cron: '*/5 * * * *', run: () => watchConditions(ctx, parts) }]
}

/**
 * Returns the server certificates that clients, devices and agents verify, and the CAs of the client certificates of
 * devices and agents. Those for agents are listed only if devices don't share them.
 */
export function certificatesOf({ http, gateway, edge }: Pick<TlsMaterial, 'http' | 'gateway' | 'edge'>): Certificate[] {
  const chains = [
    ...(http === null ? [] : [{ of: 'the HTTPS server', pem: http.cert }]),
    { of: 'the gateway for devices', pem: gateway.cert },
    { of: 'the CA of devices', pem: gateway.ca, isCa: true },
    ...(edge.cert === gateway.cert ? [] : [{ of: 'the gateway for agents', pem: edge.cert }]),
    ...(edge.ca === gateway.ca ? [] : [{ of: 'the CA of agents', pem: edge.ca, isCa: true }]),
  ]
  return chains.flatMap(({ of, pem, isCa = false }: { of: string; pem: string; isCa?: boolean }) =>
    certificatesIn(pem).map(({ validToDate: notAfter }, index) => ({
      // Names identify conditions, and the certificates of a file may have the same subject.
      of: index === 0 ? of : `${of} (number ${index + 1} in its file)`,
      notAfter,
      isCa,
    })),
  )
}

const FAILING_MS = 3600e3

/** Compares the current conditions with those that were reported to organizations. */
export async function watchConditions(ctx: Context, { storage, certificates }: WatchedParts): Promise<void> {
  const now = ctx.clock.now()
  const open = await listOpenConditions(ctx.db)
  const disk = await storage.disk.getState()
  const missing = await listMissingImages(ctx.db, storage.firmwareFiles)
  const failing = await listFailingWebhooks(ctx.db, addMs(now, -FAILING_MS))
  const overflowing = await listOverflowingWebhooks(ctx.db, addMs(now, -OVERFLOWING_MS))
  const expiring = await findExpiringCertificates(ctx.db, addMs(now, EXPIRES_WITHIN_MS))
  const devicesBefore = addMs(now, DEVICES_EXPIRE_WITHIN_MS)
  const devices = await listExpiringDevices(ctx.db, devicesBefore)
  const mxedges = await listExpiringMxedges(ctx.db, devicesBefore)
  const { ofOrgs, ofServer } = await findFullQuotas(ctx, storage, open)
  const isDiskLow = open.some(({ type }) => type === 'DISK_SPACE_LOW')
  const low = decideDisk({ ...disk, isOpen: isDiskLow })
  const server = [...decideCertificates(certificates, now), ...(low === null ? [] : [low]), ...ofServer]
  const present = [
    ...ofOrgs,
    ...missing.map(missingCondition),
    ...failing.map(failingCondition),
    ...overflowing.map(overflowingCondition),
    ...expiring.map((webhook) => clientCertificateCondition(webhook, now)),
    ...devices.map((expiring) => devicesExpiringCondition(expiring, now)),
    ...mxedges.map((expiring) => mxedgeExpiringCondition(expiring, now)),
    ...(await Promise.all(server.map((finding) => forConcerned(ctx, finding)))).flat(),
  ]
  await inTx(ctx, (tx) => updateConditions(tx, present, now))
}

async function forConcerned(ctx: Context, finding: Finding): Promise<Condition[]> {
  const orgIds = await listConcernedOrgs(ctx.db, finding)
  return orgIds.map((orgId) => Object.assign({ orgId, siteId: null }, finding))
}

const kinds = { firmware: 'firmware images', pictures: 'pictures', support: 'support files' } as const

/** A quota of all organizations concerns each of them: the next upload of any may be refused. */
async function findFullQuotas(
  ctx: Context,
  { settings }: Pick<Storage, 'settings'>,
  open: readonly ConditionKey[],
): Promise<{ ofOrgs: Condition[]; ofServer: Finding[] }> {
  const usage = await listUsage(ctx.db)
  const full = open.filter(({ type }) => type === 'STORAGE_QUOTA_NEARLY_FULL')
  const ofOrgs = usage.flatMap(({ orgId, kind, bytes: usedBytes }): Condition[] => {
    const subject = `${kind} of the organization`
    const isOpen = full.some((key) => key.orgId === orgId && key.subject === subject)
    const of = `${kinds[kind]} of the organization`
    const finding = decideUsage({ of, subject, usedBytes, maxBytes: settings[kind].orgMaxBytes, isOpen })
    return finding === null ? [] : [{ ...finding, orgId, siteId: null }]
  })
  const ofServer = keysOf(kinds).flatMap((kind) => {
    const subject = `${kind} of all organizations`
    const usedBytes = usage.reduce((sum, used) => (used.kind === kind ? sum + used.bytes : sum), 0)
    const isOpen = full.some((key) => key.subject === subject)
    const of = `${kinds[kind]} of all organizations`
    return decideUsage({ of, subject, usedBytes, maxBytes: settings[kind].totalMaxBytes, isOpen }) ?? []
  })
  return { ofOrgs, ofServer }
}
