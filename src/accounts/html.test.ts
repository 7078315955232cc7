import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { composeMail } from './mail/compose-mail.ts'
import { html } from './html.ts'

describe('html', () => {
  it('escapes texts and inserts markup unchanged', () => {
    const items = ['a', '<b>'].map((text) => html`<li>${text}</li>`)
    expect(html`<p title="${`"'&`}">${items}</p>`.markup).toBe(
      '<p title="&quot;&#39;&amp;"><li>a</li><li>&lt;b&gt;</li></p>',
    )
  })

  it('keeps every text inside its place in the markup', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const inner = html`<p title="${text}">${text}</p>`.markup.slice('<p title="'.length, -'</p>'.length)
        expect(inner.replace('">', '')).not.toMatch(/[<>"']/)
      }),
    )
  })
})

describe('composeMail', () => {
  it('renders the same words as text and as HTML, and loads nothing', () => {
    const action = { label: 'Go', url: 'https://signalbox.test/go?a=1&token=x' }
    const mail = composeMail({ to: 'a@b.test', subject: 'S', paragraphs: ['1 < 2', 'Second.'], action })
    expect(mail.text).toBe('1 < 2\n\nSecond.\n\nGo:\nhttps://signalbox.test/go?a=1&token=x\n')
    expect(mail.html).toContain('<p>1 &lt; 2</p><p>Second.</p>')
    expect(mail.html).toContain('href="https://signalbox.test/go?a=1&amp;token=x"')
    expect(mail.html).not.toMatch(/src=|<link|url\(/)
    expect(mail.links).toEqual([action.url])
  })

  it('has no link without an action', () => {
    const mail = composeMail({ to: 'a@b.test', subject: 'S', paragraphs: ['One.'] })
    expect(mail).toMatchObject({ text: 'One.\n', links: [] })
    expect(mail.html).not.toContain('href')
  })
})
