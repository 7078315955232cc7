import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { AppError, notFound } from '../../platform/errors.ts'

/** The purpose of an address. An address for uploads does not allow reading, and vice versa. */
type Purpose = 'upload' | 'read'

/** The file of a command. */
export interface SupportTicket {
  readonly orgId: string
  readonly commandId: string
}

/** The file that a machine uploads. */
export interface UploadTicket extends SupportTicket {
  readonly hasExpired: boolean
}

/** The segments of the address's path, as received. */
export interface SupportPath {
  readonly org_id: string
  readonly command_id: string
  readonly expires: string
  readonly signature: string
}

/** A device may collect for ten minutes, and has as long again for the upload. */
const UPLOAD_MS = 20 * 60_000
const READ_MS = 60 * 60_000

/**
 * Returns the address to which the device of one command may upload one file. The signature is the credential. It
 * consists of unreserved characters and slashes only, because devices put it into a command line.
 */
export function supportUploadUrl(ctx: UrlContext, ticket: SupportTicket): string {
  return urlOf(ctx, 'upload', { ...ticket, expiresAt: addMs(ctx.clock.now(), UPLOAD_MS) })
}

/** Returns an address whose holder may read the file for an hour. */
export function supportReadUrl(ctx: UrlContext, ticket: SupportTicket): string {
  return urlOf(ctx, 'read', { ...ticket, expiresAt: addMs(ctx.clock.now(), READ_MS) })
}

type UrlContext = Pick<Context, 'secrets' | 'baseUrl' | 'clock'>

function urlOf(
  ctx: UrlContext,
  purpose: Purpose,
  { orgId, commandId, expiresAt }: SupportTicket & { readonly expiresAt: Date },
): string {
  const path = [orgId, commandId, Math.floor(expiresAt.getTime() / 1000)].join('/')
  return `${ctx.baseUrl}/support-files/${path}/${ctx.secrets.sign('support', `${purpose} ${path}`)}`
}

type TicketContext = Pick<Context, 'secrets' | 'clock'>

/** @throws AppError not_found for an address that was not made here for uploads. */
export function openUploadTicket(ctx: TicketContext, path: SupportPath): UploadTicket {
  return openTicket(ctx, 'upload', path)
}

/** @throws AppError not_found for an address that was not made here for reading; forbidden for one that has expired. */
export function openReadTicket(ctx: TicketContext, path: SupportPath): SupportTicket {
  const { hasExpired, ...ticket } = openTicket(ctx, 'read', path)
  if (hasExpired) throw expired()
  return ticket
}

export function expired(): AppError {
  return new AppError('forbidden', 'This address has expired')
}

function openTicket(
  ctx: TicketContext,
  purpose: Purpose,
  { org_id: orgId, command_id: commandId, expires, signature }: SupportPath,
): UploadTicket {
  // The path is compared as received: only one spelling of it was ever signed.
  if (!ctx.secrets.verify('support', `${purpose} ${[orgId, commandId, expires].join('/')}`, signature))
    throw notFound(commandId)
  return { orgId, commandId, hasExpired: Number(expires) * 1000 <= ctx.clock.now().getTime() }
}
