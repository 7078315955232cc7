import { randomBytes } from 'node:crypto'
import { type Html, html } from './html.ts'

export interface PageContent {
  readonly title: string
  readonly body: Html
  /** Runs in the page. It is constant text of ours and never contains user input. */
  readonly script?: string
  /**
   * The page holds a form. Browsers apply `form-action` to the redirects that follow a submission too, so the policy of
   * such a page does not set it.
   */
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
 * Renders a page behind a mailed link. The page loads nothing, runs no script but its own, can't be framed, and does
 * not pass on its URL, which holds a token.
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
      'x-frame-options': 'DENY',
    },
  }
}
