import type { Mail } from '../../platform/outbound/mail.ts'
import { html } from '../html.ts'

/**
 * The content of a mail. No text that the requester chose, such as a name or a title, may appear in it: anyone can make
 * the service write to anyone, and must not choose the words. Names that the reader needs to recognize what is meant are
 * those of plainName().
 */
export interface MailContent {
  readonly to: string
  readonly subject: string
  readonly paragraphs: readonly (string | MailLink)[]
  /** The last link in the mail. */
  readonly action?: MailLink
}

/** Leads to a page of the console. */
export interface MailLink {
  readonly label: string
  /** It lies below the service's own URL. */
  readonly url: string
}

const MAX_NAME = 60

/**
 * Strips characters that could form links or sentences: an intruder may have chosen the name, and must not choose what
 * we write to the reader.
 */
export function plainName(name: string): string {
  return name
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '_')
    .slice(0, MAX_NAME)
    .toWellFormed()
    .trim()
}

/** Renders the same words as text and as HTML. The HTML loads nothing from elsewhere. */
export function composeMail({ to, subject, paragraphs, action }: MailContent): Mail {
  const all = action === undefined ? paragraphs : [...paragraphs, action]
  const body = html`<!doctype html>
    <html lang="en">
      <body>
        ${all.map(htmlOf)}
      </body>
    </html>`
  return {
    to,
    subject,
    text: `${all.map(textOf).join('\n\n')}\n`,
    html: body.markup,
    links: all.flatMap((part) => (typeof part === 'string' ? [] : [part.url])),
  }
}

function htmlOf(part: string | MailLink) {
  return typeof part === 'string'
    ? html`<p>${part}</p>`
    : html`<p><a href="${part.url}">${part.label}</a></p>
        <p>${part.url}</p>`
}

function textOf(part: string | MailLink): string {
  return typeof part === 'string' ? part : `${part.label}:\n${part.url}`
}
