import { useEffect, useId, useState } from 'preact/hooks'

/** Takes a file that is dropped or chosen. */
export function DropZone({ file, choose }: { file: File | undefined; choose(file: File | undefined): void }) {
  const id = useId()
  useEffect(() => refuseDrops(), [])
  const [isOver, setOver] = useState(false)
  const over = (is: boolean) => (event: DragEvent) => {
    event.preventDefault()
    setOver(is)
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the field inside does the same by keys
    <div
      class={isOver ? 'drop over' : 'drop'}
      onDragOver={over(true)}
      onDragLeave={over(false)}
      onDrop={(event) => {
        over(false)(event)
        const [dropped] = event.dataTransfer?.files ?? []
        if (dropped) choose(dropped)
      }}
    >
      <label for={id}>
        <strong>{file?.name ?? 'Drop a CSV or NDJSON file here, or choose one'}</strong>
      </label>
      <input
        id={id}
        type="file"
        accept=".csv,.tsv,.txt,.ndjson,.jsonl,.json,text/csv,application/x-ndjson"
        onClick={(event) => {
          event.currentTarget.value = '' // otherwise the same file, changed, could not be chosen again
        }}
        onChange={(event) => choose(event.currentTarget.files?.[0])}
      />
      {!file && (
        <p class="muted">
          One contact on each row. Only the e-mail address is required. Names, tags and a status are recognised by the
          names of their columns, and other columns become attributes.
        </p>
      )}
    </div>
  )
}

/** Ignores files that are dropped elsewhere. The browser would open them instead of the page. @returns Stops that. */
function refuseDrops(): () => void {
  const refuse = (event: DragEvent) => event.dataTransfer?.types.includes('Files') && event.preventDefault()
  addEventListener('dragover', refuse)
  addEventListener('drop', refuse)
  return () => {
    removeEventListener('dragover', refuse)
    removeEventListener('drop', refuse)
  }
}
