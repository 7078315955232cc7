import { Button } from './button.tsx'

interface UploadButtonProps {
  readonly action: string
  /** Null while nothing is sent. */
  readonly share: number | null
  readonly onEnd: () => void
}

/** Submits a form with a file, and then shows how much of it has been sent. */
export function UploadButton({ action, share, onEnd }: UploadButtonProps) {
  if (share === null)
    return (
      <Button type="submit" size="xs">
        {action}
      </Button>
    )
  return (
    <>
      <progress value={share} aria-label="Upload" /> {Math.floor(100 * share)} %{' '}
      <button type="button" className="quiet" onClick={onEnd}>
        End the upload
      </button>
    </>
  )
}
