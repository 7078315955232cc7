import type { FastifyPluginAsync } from 'fastify'
import { type Html, html } from './html.ts'
import { page } from './pages.ts'

interface LinkPage {
  readonly title: string
  /** It contains the paragraph `message`, whose text the script sets. */
  readonly body: Html
  /** Runs after the declarations in `shared`. It sends the token from the page's own URL, and shows replies as text only. */
  readonly script: string
}

/** What the scripts of all these pages use. */
const shared = `
  const message = document.querySelector('#message')
  const token = new URLSearchParams(location.search).get('token') ?? ''
  const unreachable = "The server can't be reached. Try again."`

/**
 * Declares the route of a page behind a mailed link. Opening it changes nothing, because mail programs open links before
 * people do. It is the same for every token, so it reveals nothing about them.
 */
export function linkPageRoutes(path: string, { title, body, script }: LinkPage): FastifyPluginAsync {
  return async (http) => {
    http.get(path, { schema: { hide: true } }, async (_request, reply) => {
      const { headers, html: text } = page({
        title,
        body: html`${body}<noscript><p>This page needs JavaScript.</p></noscript>`,
        script: shared + script,
      })
      return reply.headers(headers).send(text)
    })
  }
}
