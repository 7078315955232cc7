import { Modal } from '@mantine/core'
import { useState } from 'react'
import { Button } from '../forms/button.tsx'
import { type PageCall, curlText } from './curl-text.ts'

/** Shows the call of the API that returns the data on the page. */
export function CurlButton({ call }: { readonly call: PageCall }) {
  const [isOpen, setOpen] = useState(false)
  const [isCopied, setCopied] = useState(false)
  const command = curlText(globalThis.location.origin, call)
  // A page that is served without TLS has no clipboard; the text can be selected.
  const { clipboard } = globalThis.navigator as { readonly clipboard?: Clipboard }
  const copy = async (): Promise<void> => {
    await clipboard?.writeText(command)
    setCopied(true)
  }
  return (
    <>
      <button type="button" className="quiet" onClick={() => setOpen(true)}>
        As curl
      </button>
      <Modal opened={isOpen} onClose={() => setOpen(false)} title="As curl" lockScroll={false} centered size="lg">
        <div className="confirm">
          <pre className="once">{command}</pre>
          {clipboard !== undefined && (
            <div className="confirm-buttons">
              <Button size="sm" variant="default" onClick={() => void copy()}>
                {isCopied ? 'Copied' : 'Copy'}
              </Button>
            </div>
          )}
        </div>
      </Modal>
    </>
  )
}
