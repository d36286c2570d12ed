import { ExportForm } from "./form";

export default function Page() {
  return <ExportForm />;
}
