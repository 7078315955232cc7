import { randomBytes } from 'node:crypto'
import { type Html, html } from './html.ts'

export interface PageContent {
  readonly title: string
  readonly body: Html
  /** Runs in the page; constant text of ours, never made from what somebody sent. */
  readonly script?: string
  /** It holds a form. Browsers hold the answer's redirects against a policy of forms too, so it has none then. */
  readonly submits?: boolean
}

/** For a route: `reply.headers(page.headers).send(page.html)`. */
export interface Page {
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
}

const style = `
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 32rem; margin: 15vh auto; padding: 0 1rem; color: #1c2733 }
  button { font: inherit; padding: .5rem 1rem; border: 0; border-radius: .3rem; background: #1a5fb4; color: #fff }
  button[disabled] { opacity: .5 }
  input { font: inherit; padding: .4rem; margin: .3rem 0; width: 100%; box-sizing: border-box }`

/**
 * A page behind a mailed link. It loads nothing, runs nothing but its own script, can't be framed, and
 * does not pass its address on, which holds a token.
 */
export function page({ title, body, script, submits = false }: PageContent): Page {
  const nonce = randomBytes(16).toString('base64')
  const policy = [
    "default-src 'none'",
    `style-src 'nonce-${nonce}'`,
    `script-src 'nonce-${nonce}'`,
    "connect-src 'self'",
    ...(submits ? [] : ["form-action 'none'"]),
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ]
  const head = html`<meta charset="utf-8" /><meta name="viewport" content="width=device-width" />
    <title>${title}</title>`
  const content = html`<h1>${title}</h1>
    ${body}`
  return {
    html: `<!doctype html>
<html lang="en"><head>${head.markup}<style nonce="${nonce}">${style}</style></head>
<body>${content.markup}${script === undefined ? '' : `<script nonce="${nonce}">${script}</script>`}</body></html>
`,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy.join('; '),
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    },
  }
}
