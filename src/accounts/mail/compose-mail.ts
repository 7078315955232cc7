import type { Mail } from '../../platform/outbound/mail.ts'
import { html } from '../html.ts'

/**
 * The content of a mail. No text that the requester chose, such as a name or a title, may appear in it: anyone can make
 * the service write to anyone, and must not choose the words. Names of tokens, which their owner needs to recognize
 * them, are stripped to letters and digits (password-changed-mail.ts).
 */
export interface MailContent {
  readonly to: string
  readonly subject: string
  readonly paragraphs: readonly string[]
  /** The only action in the mail. `url` lies below the service's own URL. */
  readonly action?: { readonly label: string; readonly url: string }
}

/** Renders the same words as text and as HTML. The HTML loads nothing from elsewhere. */
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
