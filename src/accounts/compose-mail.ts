import type { Mail } from '../platform/mail.ts'
import { html } from './html.ts'

/**
 * What a mail says. Nothing in it may come from the one who caused it (names, titles): anybody can
 * make the service write to anybody, and must not choose what it says. Names of tokens, by which their owner knows
 * them again, are stripped to letters and digits (password-changed-mail.ts).
 */
export interface MailContent {
  readonly to: string
  readonly subject: string
  readonly paragraphs: readonly string[]
  /** The one thing to do; `url` is below the service's own address. */
  readonly action?: { readonly label: string; readonly url: string }
}

/** The same words as text and as HTML, which loads nothing from elsewhere. */
export function composeMail({ to, subject, paragraphs, action }: MailContent): Mail {
  const link =
    action === undefined
      ? html``
      : html`<p><a href="${action.url}">${action.label}</a></p>
          <p>${action.url}</p>`
  const body = html`<!doctype html>
    <html lang="en">
      <body>
        ${paragraphs.map((text) => html`<p>${text}</p>`)}${link}
      </body>
    </html>`
  const text = [...paragraphs, ...(action === undefined ? [] : [`${action.label}:\n${action.url}`])]
  return {
    to,
    subject,
    text: `${text.join('\n\n')}\n`,
    html: body.markup,
    links: action === undefined ? [] : [action.url],
  }
}
