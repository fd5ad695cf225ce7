package qr_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"quartet/sim/internal/qr"
)

// link is a text whose drawing was read back by another program's reader.
const (
	link   = "sgnl://linkdevice?uuid=AAAAAAAAAAAAAAAAAAAAAA%3D%3D&pub_key=BQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	digest = "a35def7bf559e6206edbb6074794f26cf323928f67316a70682f747a73dd1145"
)

func TestTheDrawingIsTheOneThatAReaderRead(t *testing.T) {
	var modules strings.Builder
	for _, row := range qr.New(link) {
		for _, dark := range row {
			if dark {
				modules.WriteByte('#')
			} else {
				modules.WriteByte('.')
			}
		}
	}
	sum := sha256.Sum256([]byte(modules.String()))
	if got := hex.EncodeToString(sum[:]); got != digest {
		t.Errorf("the code of the link is another one: %s", got)
	}
}

func TestThePictureHasItsQuietZoneAndItsCorners(t *testing.T) {
	img, err := png.Decode(bytes.NewReader(qr.PNG(link)))
	if err != nil {
		t.Fatal(err)
	}
	dark := func(row, column int) bool {
		return color.GrayModel.Convert(img.At((column+4)*6+3, (row+4)*6+3)).(color.Gray).Y < 128
	}
	for i := -4; i < 45; i++ {
		if dark(-1, i) || dark(i, -1) || dark(41, i) || dark(i, 41) {
			t.Fatalf("the quiet zone is broken at %d", i)
		}
	}
	for _, at := range [][2]int{{0, 0}, {0, 34}, {34, 0}} {
		if !dark(at[0], at[1]) || dark(at[0]+1, at[1]+1) || !dark(at[0]+3, at[1]+3) {
			t.Errorf("no finder at %v", at)
		}
	}
}

func TestWhatDoesNotFitIsNotDrawn(t *testing.T) {
	if qr.PNG(strings.Repeat("x", qr.Max)) == nil || qr.PNG(strings.Repeat("x", qr.Max+1)) != nil {
		t.Error("the bound is another one")
	}
}
