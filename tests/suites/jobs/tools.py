# SPDX-License-Identifier: Apache-2.0
"""Programs that make one file of another."""
import os

from jobs import job


class Ffmpeg(job.Job):
    NAME, PACKAGE, NEEDS, PROFILES = "ffmpeg", "ffmpeg", ("ffmpeg",), ("ffmpeg",)

    def work(self):
        for codec, more in (("mpeg4", ("-bf", "2")), ("ffv1", ()), ("mjpeg", ())):
            self.do(codec, "ffmpeg", "-nostdin", "-v", "error", "-bitexact", "-f", "lavfi", "-i", "testsrc2=duration=2:size=320x240:rate=15",
                    "-f", "lavfi", "-i", "sine=frequency=440:duration=2", "-c:v", codec, *more, "-c:a", "flac", "-threads", "1",
                    "-flags", "+bitexact", "-f", "nut", "-y", "out.nut")
            self.do(f"{codec} decoded", "ffmpeg", "-nostdin", "-v", "error", "-bitexact", "-threads", "1", "-i", "out.nut", "-vf",
                    "scale=160:120:flags=bitexact,hqdn3d", "-f", "framemd5", "-", keep=True)


class ImageMagick(job.Job):
    NAME, PACKAGE, NEEDS, PROFILES = "ImageMagick", "imagemagick", (), ("convert-im6.q16",)

    @classmethod
    def is_there(cls):
        return cls.command() is not None

    @staticmethod
    def command():
        return next(filter(None, map(job.shutil.which, ("convert-im6.q16", "magick"))), None)

    def work(self):
        command = self.command()
        self.PROFILES = (os.path.basename(os.path.realpath(command)),)
        self.do("made", command, "-seed", "7", "-size", "500x400", "plasma:red-blue", "-depth", "8", "-strip", "a.png")
        self.do("changed", command, "a.png", "-resize", "350x300", "-blur", "0x2", "-rotate", "17", "-quantize", "RGB", "-colors", "90", "-strip", "b.gif")
        for name in ("a.png", "b.gif"):
            self.results[f"signature of {name}"] = self.do(f"{name} read", command, name, "-format", "%# %w %h", "info:")


class LibreOffice(job.Job):
    NAME, PACKAGE, NEEDS, PROFILES = "LibreOffice", "libreoffice-writer-nogui", ("soffice",), ("soffice.bin",)

    def work(self):
        self.write("text.txt", "".join(f"Line {i}, and some words of it.\n" for i in range(400)))
        for kind in ("html:HTML (StarWriter)", "txt:Text", "pdf"):
            end = kind.split(":")[0]
            self.do(end, "soffice", "--headless", f"-env:UserInstallation=file://{self.folder}/office", "--convert-to", kind, "--outdir", "out", "text.txt")
            path = self.folder / "out" / f"text.{end}"
            data = path.read_bytes() if path.exists() else b""
            # A PDF has its time and a number that is chance.
            self.results[f"{end}: file"] = job.digest(data) if end == "txt" else str(data.count(b"/Type/Page/") if end == "pdf" else data.count(b"Line"))


PROGRAMS = (Ffmpeg, ImageMagick, LibreOffice)
